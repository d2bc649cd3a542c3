package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/report"
)

// TestWithLog: shown events are also appended to a file, over several runs, and a report can read the file.
func TestWithLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.log")
	events, _ := aMove().events()
	var shown, errOut bytes.Buffer
	for range 2 {
		d, err := WithLog(plain(&shown, terminal.Painter{}), path, &errOut)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			d.Show(e)
		}
		d.Close()
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entries, err := report.ReadLog(file)
	if err != nil || len(entries) != 2*len(events) {
		t.Fatalf("%d entries of %d events: %v", len(entries), 2*len(events), err)
	}
	for i, e := range entries {
		if want := events[i%len(events)]; e.Kind != string(want.Kind) || e.Message != want.Message || e.Verb != want.Verb || !e.Time.Equal(want.Time) {
			t.Errorf("entry %d is %+v, want %+v", i, e, want)
		}
	}
	if errOut.Len() > 0 || shown.Len() == 0 {
		t.Errorf("it says %q, and shows %d bytes", errOut.String(), shown.Len())
	}
}

// TestLogBreaks: a write error of the file is reported once, and all events are still shown.
func TestLogBreaks(t *testing.T) {
	var shown, errOut bytes.Buffer
	d, err := WithLog(plain(&shown, terminal.Painter{}), filepath.Join(t.TempDir(), "web.log"), &errOut)
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := d.(*logged)
	if !ok {
		t.Fatalf("it is a %T", d)
	}
	_ = kept.file.Close()
	for range 3 {
		d.Show(Event{Kind: Waiting, Message: "line"})
	}
	if got := strings.Count(errOut.String(), "the log is incomplete"); got != 1 || strings.Count(shown.String(), "line") != 3 {
		t.Errorf("it complained %d times, and shows:\n%s", got, shown.String())
	}
}
