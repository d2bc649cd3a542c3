package treediff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Keep copies a folder, with all that Compare compares, or the content of a device, to a path that does not exist.
func Keep(ctx context.Context, source, to string) (err error) {
	if isFolder(source) {
		if out, err := exec.CommandContext(ctx, "cp", "-a", source, to).CombinedOutput(); err != nil {
			return fmt.Errorf("cp -a %s %s: %w: %s", source, to, err, out)
		}
		return nil
	}
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
