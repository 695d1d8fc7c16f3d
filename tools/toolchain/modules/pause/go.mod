module example.invalid/sandbox/pause

go 1.26.0
