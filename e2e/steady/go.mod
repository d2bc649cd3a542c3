module github.com/sliceshift/sliceshift/e2e/steady

go 1.26.0
