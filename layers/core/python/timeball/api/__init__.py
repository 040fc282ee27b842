"""The API function: what a client may do with jobs and runs, over HTTPS.

Each kind of resource has a folder, and `routes.py` in it is the place to start. All of these folders import from
`http`. The top-level `routes.py` joins their routes, and `app.py` answers requests by them.
"""
