"""Decision service: live agents over HTTP, with a dashboard. Needs the extra ``serve``."""
