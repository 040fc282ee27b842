"""The API function: what a client may do with jobs and runs, over HTTPS.

Each kind of resource has a folder, whose operations declare their routes (`@router.get(...)`). All of these folders
import from `http`. `routes.py` joins the routes of all routers, and `app.py` answers requests by them. API Gateway asks
the function of `authorizer.py` first.
"""
