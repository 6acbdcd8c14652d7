"""Who may do what: Host, Origin, tokens, cookies, and who is at the other end."""
