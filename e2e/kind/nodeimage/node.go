package nodeimage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// node turns a container of the base into a node and commits it as the image. The container has the stop signal of
// systemd, because the image inherits it.
func (b *build) node(ctx context.Context, base string) (err error) {
	id, err := docker.Output(ctx, "run", "-d", "--network=none", "--security-opt", "seccomp=unconfined",
		"--stop-signal", "SIGRTMIN+3", "--label", fingerprintLabel+"="+b.fingerprint,
		"-v", b.dir+":/build:ro", "-v", b.sourceDir+":/source:ro", "-v", b.kindFiles()+":/kind-files:ro",
		base, "sleep", "infinity")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, docker.Run(context.WithoutCancel(ctx), "rm", "-f", "-v", id)) }()
	if err := docker.Run(ctx, "exec", id, "bash", "/source/node.sh", b.version); err != nil {
		return err
	}
	old, _ := docker.Output(ctx, "image", "inspect", "--format", "{{.Id}}", b.image)
	const entrypoint = `ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]`
	if err := docker.Run(ctx, "commit", "--change", entrypoint, id, b.image); err != nil {
		return err
	}
	if old != "" { // a cluster may still use it: then it remains until it is pruned
		if err := docker.Run(ctx, "image", "rm", old); err != nil {
			fmt.Fprintln(b.progress, "the image before this one is still in use:", err)
		}
	}
	return nil
}
