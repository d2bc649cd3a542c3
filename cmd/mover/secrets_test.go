package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/treetest"
)

// TestSecretsOfTheMover: no part of a mover's key appears in a log, a result or an error of the mover or its peer. This
// holds if they succeed, do not trust each other, or find a damaged key.
func TestSecretsOfTheMover(t *testing.T) {
	for name, tc := range map[string]struct {
		// stranger makes the receiver expect another sender; damage changes the sender's key.
		stranger bool
		damage   func(key []byte) []byte
		code     int
	}{
		"it ends well":   {code: exitDone},
		"another peer":   {stranger: true, code: exitFailed},
		"half a key":     {damage: func(key []byte) []byte { return key[:len(key)/2] }, code: exitFailed},
		"a key and more": {damage: func(key []byte) []byte { return append(bytes.Clone(key), "garbage"...) }, code: exitDone},
		"a key that is text": {damage: func(key []byte) []byte {
			return append([]byte("key: "), bytes.ReplaceAll(key, []byte("\n"), []byte(" "))...)
		}, code: exitFailed},
		"a key without a seal": {damage: func(key []byte) []byte { return bytes.ReplaceAll(key, []byte("-----"), nil) }, code: exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, destination, dir := t.TempDir(), t.TempDir(), t.TempDir()
			treetest.In(t, source).File("file", []byte("content"))
			said, prints := &bytes.Buffer{}, map[string]string{}
			var keys [][]byte
			for _, side := range []string{"sender", "receiver", "stranger"} {
				var out bytes.Buffer
				if code := run(t.Context(), []string{"key", "--identity", dir + "/" + side, "--termination-log", dir + "/log"}, noEnv, streams{&out, said}); code != exitDone {
					t.Fatal(said)
				}
				prints[side] = strings.TrimSpace(out.String())
				key, err := os.ReadFile(dir + "/" + side)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, key)
				said.Write(out.Bytes())
			}
			if tc.damage != nil {
				if err := os.WriteFile(dir+"/sender", tc.damage(keys[0]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			expected := prints["sender"]
			if tc.stranger {
				expected = prints["stranger"]
			}
			port := loopback.AddressFor(t)
			type ended struct {
				code int
				said string
			}
			sender := make(chan ended, 1)
			go func() {
				var out, log bytes.Buffer
				code := run(t.Context(), []string{"send", "--root", source, "--listen", port, "--identity", dir + "/sender", "--peer", prints["receiver"], "--termination-log", dir + "/sent", "--patience", "2s", "--log-level", "debug"}, noEnv, streams{&out, &log})
				sender <- ended{code, out.String() + log.String()}
			}()
			code := run(t.Context(), []string{"receive", "--root", destination, "--connect", port, "--identity", dir + "/receiver", "--peer", expected, "--termination-log", dir + "/received", "--patience", "2s", "--log-level", "debug"}, noEnv, streams{said, said})
			first := <-sender
			if code != tc.code || (first.code == exitDone) != (tc.code == exitDone) {
				t.Errorf("exit codes %d and %d, want %d:\n%s%s", first.code, code, tc.code, first.said, said)
			}
			said.WriteString(first.said)
			for _, log := range []string{dir + "/sent", dir + "/received"} {
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				said.Write(text)
			}
			told := said.String()
			for _, mark := range keyMarks(t, keys) {
				if at := strings.Index(told, mark); at >= 0 {
					t.Errorf("a key is told: %q", told[max(0, at-80):at+len(mark)])
				}
			}
			if !strings.Contains(told, "sha256:") {
				t.Error("nothing is said at all")
			}
		})
	}
}

// keyMarks returns parts of keys that identify them, as stored and encoded in Base64.
func keyMarks(t *testing.T, keys [][]byte) []string {
	t.Helper()
	var marks []string
	for _, key := range keys {
		encoded := base64.StdEncoding.EncodeToString(key)
		marks = append(marks, encoded[len(encoded)/2:len(encoded)/2+24])
		for line := range strings.SplitSeq(strings.TrimSpace(string(key)), "\n") {
			if len(line) >= 24 && !strings.HasPrefix(line, "-----") {
				marks = append(marks, line[len(line)/2-8:len(line)/2+8])
			}
		}
	}
	if len(marks) <= len(keys) {
		t.Fatal("no key has a line that tells it")
	}
	return marks
}
