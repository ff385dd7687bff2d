"""What a session's turns say together: rules that see every turn once and name the turns that show it."""
