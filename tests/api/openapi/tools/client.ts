// A client made by openapi-typescript creates a job, reads it, and meets a problem: node client.js URL KEY
import createClient from "openapi-fetch";
import type { paths } from "./generated.js";

declare const process: { argv: string[] };

const [baseUrl, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const created = await client.POST("/v1/jobs", {
  body: { handler: "https://shop.example/report", cronExpression: "0 9 * * MON-FRI" },
});
if (!created.data) throw new Error(created.error.detail);
const read = await client.GET("/v1/jobs/{jobId}", { params: { path: { jobId: created.data.jobId } } });
const none = await client.GET("/v1/jobs/{jobId}", { params: { path: { jobId: "none" } } });
console.log(JSON.stringify({ status: read.data?.status, problem: none.error?.status }));
