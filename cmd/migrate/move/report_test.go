package move

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/migration/report"
)

// TestReportCommand: the report of a record in each format, with and without a log.
func TestReportCommand(t *testing.T) {
	log := filepath.Join(t.TempDir(), "web.log")
	if err := os.WriteFile(log, []byte("{\"time\":\"2026-01-01T11:59:59Z\",\"kind\":\"Written\",\"message\":\"claim <b>it</b>\"}\nbroken\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"text":          {nil, 0, "# Migration of StatefulSet shop/web"},
		"html":          {[]string{"-o", "html"}, 0, "<!DOCTYPE html>"},
		"no such file":  {[]string{"--log", log + "2"}, command.ExitUsage, "no such file"},
		"a broken file": {[]string{"--log", log}, command.ExitUsage, "line 2 is no entry"},
		"no format":     {[]string{"-o", "pdf"}, command.ExitUsage, "md, html, json"},
	} {
		t.Run(name, func(t *testing.T) {
			east := serveRecord(t, movetest.InFlight())
			c := newConsole(append([]string{"report", "web", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			code := c.Run(t)
			if text := c.Stdout.String() + c.Stderr.String(); code != tc.code || !strings.Contains(text, tc.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, tc.code, tc.want, text)
			}
			if wrote := len(east.Wrote()); wrote > 0 {
				t.Errorf("%d writes", wrote)
			}
		})
	}
	c := newConsole("report", "web", "--kubeconfig", serveRecord(t, movetest.InFlight()).Kubeconfig(t), "-o", "json")
	var r report.Report
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.Stderr)
	}
	if err := json.Unmarshal(c.Stdout.Bytes(), &r); err != nil || r.Destination.Cluster != "west" || r.Handoffs[0].Ordinal != 2 {
		t.Errorf("%v: %+v", err, r)
	}
}
