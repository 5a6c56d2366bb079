"""Support code of the tests: oracles, reference implementations, mutants and builders."""
