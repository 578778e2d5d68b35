// Serves the page of a file of tests under a domain, which passkeys want. To be imported first: hooks of the file run at once.

process.env.PAGE_HOST = 'localhost';
