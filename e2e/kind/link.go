package kind

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Break cuts the TCP connections to a port of the pods of a node. For the time lasts, each packet to the port is
// answered with a reset. It returns the number of those packets. The node runs the whole script, so the link recovers
// even if this process ends.
func Break(ctx context.Context, node string, port int32, lasts time.Duration) (int, error) {
	rule := fmt.Sprintf("FORWARD -p tcp --dport %d -j REJECT --reject-with tcp-reset", port)
	script := fmt.Sprintf("iptables -w -I %s; sleep %.3f; iptables -w -nvxL FORWARD 1; iptables -w -D %[1]s", rule, lasts.Seconds())
	counted, err := docker.Output(ctx, "exec", node, "sh", "-c", script)
	if err != nil {
		return 0, fmt.Errorf("break the way to port %d of pods of %s: %w", port, node, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(counted), " ")
	return strconv.Atoi(first)
}
