"""The API function: what a client may do with jobs and runs, over HTTPS.

A room for each kind of resource, with its routes.py as the way in; `http` is below them all. routes.py puts the rooms'
routes together, app.py answers with them.
"""
