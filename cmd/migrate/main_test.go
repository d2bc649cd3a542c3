package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// asProgram is the environment variable that makes the test binary act as the program.
const asProgram = "SLICESHIFT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestNobodyReads: a closed output pipe does not kill the process, possibly in the middle of a write. The process exits
// as after any error, without a message.
func TestNobodyReads(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	program := exec.CommandContext(t.Context(), os.Args[0], "version", "-o", "json")
	program.Env, program.Stdout, program.Stderr = append(os.Environ(), asProgram+"=1"), writer, &said
	err = program.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 || said.Len() > 0 {
		t.Errorf("it ended with %v, and said %q", err, said.String())
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
}
