package treetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Loop returns a block device on a file of a size, for the duration of the test. If that is not possible, the test is
// skipped, or fails if judges are Required.
func Loop(t testing.TB, size int64) (device, image string) {
	t.Helper()
	image = filepath.Join(t.TempDir(), "image")
	return loop(t, image, size), image
}

// loop returns a block device on a new file.
func loop(t testing.TB, image string, size int64) (device string) {
	t.Helper()
	NeedRoot(t)
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	device = strings.TrimSpace(string(out))
	if err != nil {
		if os.Getenv(Required) != "" {
			t.Fatalf("losetup: %v: %s", err, out)
		}
		t.Skipf("no loop device: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("losetup: %v: %s", err, out)
		}
	})
	return device
}
