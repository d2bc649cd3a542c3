package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// childEnv marks the test binary as the child that TestNothingOutlivesItsStarter kills. Its value is the folder to
// work in.
const childEnv = "SLICESHIFT_TEST_CHILD_DIR"

// TestNothingOutlivesItsStarter kills a process that has started a cluster. All processes of the cluster must end too,
// including a frozen role (C4).
func TestNothingOutlivesItsStarter(t *testing.T) {
	controlPlane(t) // the child must not build
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids map[Role]int
	if err := json.Unmarshal(line, &pids); err != nil {
		t.Fatalf("the child says %q: %v", line, err)
	}
	for role, pid := range pids {
		if !isAlive(pid) {
			t.Errorf("%s is dead before its starter", role)
		}
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, role := range Roles() {
		eventually(t, string(role)+" ends", func(context.Context) error {
			if pid := pids[role]; pid == 0 || isAlive(pid) {
				return fmt.Errorf("process %d is alive", pid)
			}
			return nil
		})
	}
}

// TestChild is the child process of TestNothingOutlivesItsStarter; on its own it tests nothing.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("runs only as the child of TestNothingOutlivesItsStarter")
	}
	c, err := Start(bounded(t), Options{Name: "child", Dir: filepath.Join(dir, "child"), Binary: controlPlane(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Freeze(ControllerManager); err != nil {
		t.Fatal(err)
	}
	pids := map[Role]int{}
	for _, role := range Roles() {
		pids[role] = c.process(role).PID()
	}
	if err := json.NewEncoder(os.Stdout).Encode(pids); err != nil {
		t.Fatal(err)
	}
	select {}
}

// isAlive reports whether a process runs. It does not count a zombie that waits for its new parent.
func isAlive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	return !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')'):], []byte(") Z"))
}
