package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/report"
)

// TestKeyOfWhatIsEmpty: a key is created only if the folder has nothing except the entries that its file system creates.
// Otherwise the message names an entry.
func TestKeyOfWhatIsEmpty(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		holds string
	}{
		"nothing":                    {nil, ""},
		"what a file system makes":   {[]string{"lost+found/#12", ".snapshot/daily/a"}, ""},
		"somebody's files":           {[]string{"other-team/ledger"}, "other-team"},
		"both":                       {[]string{"lost+found/#12", ".snapshot/daily/a", "ledger"}, "ledger"},
		"what looks like the former": {[]string{"Lost+Found/a"}, "Lost+Found"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, volume := t.TempDir(), t.TempDir()
			for _, file := range tc.files {
				treetest.In(t, volume).File(file, []byte("theirs"))
			}
			var out, log bytes.Buffer
			code := run(t.Context(), []string{"key", "--identity", dir + "/key", "--empty", volume, "--termination-log", dir + "/log"}, noEnv, streams{&out, &log})
			said := strings.TrimSpace(out.String())
			if tc.holds == "" {
				if code != exitDone || !strings.HasPrefix(said, "sha256:") {
					t.Errorf("exit code %d: %q %q", code, said, &log)
				}
				return
			}
			var result report.Result
			if err := json.Unmarshal([]byte(said), &result); err != nil || code != exitFailed || result.Result != report.NotEmpty || result.Path != tc.holds {
				t.Errorf("exit code %d: %q (%v)", code, said, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "key")); err == nil {
				t.Error("a key was made")
			}
		})
	}
	var out, log bytes.Buffer
	dir := t.TempDir()
	if code := run(t.Context(), []string{"key", "--identity", dir + "/key", "--empty", dir + "/none", "--termination-log", dir + "/log"}, noEnv, streams{&out, &log}); code != exitFailed || !strings.Contains(log.String(), "--empty") {
		t.Errorf("exit code %d: %q", code, &log)
	}
}
