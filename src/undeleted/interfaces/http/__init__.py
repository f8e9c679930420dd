"""The service: deletions, publications and the lab over HTTP, and web pages.

keys        API keys: who may do what
batches     deletions that arrive together share a transaction
ticks       answers whose timing does not reveal how long the work took
service     the store behind the service: one writer, one reader, erasure in the background
problems    errors as problem+json, in the words of `errors.py`
protocol    uvicorn's protocol, with limits on the head of a request
access      authentication: a key, or a session of the pages
lists       bulk deletion of an operator's list, as a stream
leaving     POST /v1/deletions, which many people use at once
guard       limits, security headers, logs and metrics, around everything
models      request and response bodies, strictly typed
api         /v1
pages       the web pages: dashboard, leave, lab, audits
lab         the attacks, side by side, as the pages show them
charts      publications and attacks in Vega-Lite
audits      verdicts that `undeleted audit` wrote
demo        a generated data set
app, server the application, and the process around it
"""
