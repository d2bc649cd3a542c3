package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrapper calls the wrapper with a docker that prints its arguments.
func TestWrapper(t *testing.T) {
	dir := t.TempDir()
	echo := filepath.Join(dir, "echo")
	if err := os.WriteFile(echo, []byte("#!/bin/sh\nprintf '[%s]' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "docker")
	if err := os.WriteFile(script, wrapper, 0o755); err != nil {
		t.Fatal(err)
	}
	const instead = "[--cap-add][ALL][--cap-drop][SYS_RESOURCE][--security-opt][systempaths=unconfined][--device][/dev/kmsg][--device-cgroup-rule][a *:* rwm]"
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"run":               {[]string{"run", "--privileged", "--name", "a b", "image"}, "[run]" + instead + "[--name][a b][image]"},
		"exec":              {[]string{"exec", "--privileged", "node", "ls"}, "[exec][node][ls]"},
		"nothing to change": {[]string{"ps", "-a", ""}, "[ps][-a][]"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(script, tc.args...)
			cmd.Env = append(os.Environ(), "DOCKER="+echo)
			output, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			if got := string(output); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	env, err := Host{}.Environment(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := os.ReadDir(dir); len(found) > 0 || strings.Contains(strings.Join(env, " "), "PATH="+dir) {
		t.Error("a machine that needs no wrapper got one")
	}
}
