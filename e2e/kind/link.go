package kind

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Break cuts the TCP connections that lead to a port of the pods of a node: for as long as do takes, each packet to it is answered
// with a reset. It returns how many were.
func Break(ctx context.Context, node string, port int32, do func(context.Context) error) (int, error) {
	rule := []string{"FORWARD", "-p", "tcp", "--dport", strconv.Itoa(int(port)), "-j", "REJECT", "--reject-with", "tcp-reset"}
	certain := context.WithoutCancel(ctx) // a rule that stays would break every later copy
	if err := In(certain, node, append([]string{"iptables", "-w", "-I"}, rule...)...); err != nil {
		return 0, fmt.Errorf("break the way to port %d of pods of %s: %w", port, node, err)
	}
	err := do(ctx)
	counted, countErr := docker.Output(certain, "exec", node, "iptables", "-w", "-nvxL", "FORWARD", "1")
	err = errors.Join(err, countErr, In(certain, node, append([]string{"iptables", "-w", "-D"}, rule...)...))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(strings.TrimSpace(counted), " ")
	return strconv.Atoi(first)
}
