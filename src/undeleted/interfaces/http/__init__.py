"""The service: deletions, publications and the lab over HTTP, and a page for people.

keys        API keys: who may do what
batches     deletions that arrive together share a transaction
ticks       answers that do not tell how long the work took
service     the store behind the service: one writer, one reader, erasure in the background
problems    errors as problem+json, in the words of `errors.py`
protocol    uvicorn's, with limits on the head of a request
access      who asks: a key, or a session of the page
lists       an operator's list, which streams in
leaving     the one address that many people use at once
guard       limits, security headers, logs and metrics, around everything
models      what is sent and answered, strictly typed
api         /v1
pages       the page: dashboard, leave, lab, audits
lab         the attacks, side by side, as the page shows them
charts      publications and attacks in Vega-Lite
audits      verdicts that `undeleted audit` wrote
demo        a data set that we generate
app, server the application, and the process around it
"""
