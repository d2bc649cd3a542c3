package main

import (
	"bytes"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/mover/report"
)

// TestReach: an address is reached if it accepts a connection, and only then.
func TestReach(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	open := listener.Addr().String()
	var out, log bytes.Buffer
	args := []string{"reach", "--address=" + open, "--address=" + silent, "--for=300ms", "--within=100ms", "--termination-log=" + filepath.Join(t.TempDir(), "log")}
	if code := run(t.Context(), args, func(string) string { return "" }, streams{&out, &log}); code != exitDone {
		t.Fatalf("code %d: %s", code, log.String())
	}
	var got report.Reach
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	want := report.Reach{Version: report.Version, Result: report.Tried, Reached: []string{open}, Unreached: []string{silent}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReachUsage: wrong options are rejected before any connection.
func TestReachUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no address":    {nil, "give --address"},
		"no port":       {[]string{"--address=10.0.0.1"}, "a host and a port"},
		"no time":       {[]string{"--address=10.0.0.1:443", "--for=0s"}, "times above 0"},
		"another's one": {[]string{"--address=10.0.0.1:443", "--root=/x"}, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			if code := run(t.Context(), append([]string{"reach"}, tc.args...), func(string) string { return "" }, streams{&out, &log}); code != exitUsage {
				t.Errorf("code %d", code)
			}
			if !strings.Contains(log.String(), tc.want) {
				t.Errorf("%q, want %q", log.String(), tc.want)
			}
		})
	}
}
