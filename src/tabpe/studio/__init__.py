"""`tabpe studio`: a local web application, from a messy export to a signed release.

- `server`, `app`, `access`: the server on loopback, its pages, and who may see them
- `project`: the folder of a project: its state, atomically written
- `jobs`, `worker`: long work, in a process that outlives tabs and the server
- `custodian`: the only module here that reads the private table, for the custodian's eyes
- `entries`, `steps`, `pages`: forms of a schema, what is done, and one module for each page
- `messages`: texts in the language of the user, from catalogues

Privacy: the studio calls the public interface and the functions of the command line. Long work is
the command line itself, in a process of its own. Exact counts and cells are in responses to the
custodian alone, which no cache keeps: never in an address, a title, a log or a state.
"""
