// Package tool provides third-party programs for tests and releases, such as helm and krew. Go builds each from the module
// that is pinned in a folder below hack/release/tools, and keeps it in its build cache.
package tool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Path returns the path of the program. The first call builds it, which takes minutes. It needs the checkout that this
// process was built from.
func Path(ctx context.Context, name string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find the sources of internal/tool: build without -trimpath, inside the repository")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	in := program.In{Dir: filepath.Join(root, "hack", "release", "tools", name), Env: []string{"CGO_ENABLED=0", "GOWORK=off"}}
	path, err := in.Output(ctx, "go", "tool", "-n", name)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", name, err)
	}
	return path, nil
}
