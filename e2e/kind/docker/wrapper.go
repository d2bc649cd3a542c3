package docker

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed wrapper.sh
var wrapper []byte

// Environment returns the environment for a program that calls docker --privileged on this host. On most hosts it is
// that of this process. Without CAP_SYS_RESOURCE, a docker wrapper, created in dir, is first in PATH.
func (h Host) Environment(dir string) ([]string, error) {
	if !h.Unprivileged {
		return os.Environ(), nil
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, fmt.Errorf("find docker: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "docker"), wrapper, 0o755); err != nil {
		return nil, fmt.Errorf("write the docker wrapper: %w", err)
	}
	return append(os.Environ(), "DOCKER="+docker, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}
