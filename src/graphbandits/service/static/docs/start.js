// Swagger UI 5.35.0 (Apache-2.0, see LICENSE and NOTICE), from npm's swagger-ui-dist
window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null, // it would send the description to another server
});
