package player

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// errKilled means that a process was killed before it was started.
var errKilled = errors.New("killed before it was started")

// execute runs the program of a container to its end. When the pod's life ends, the process gets SIGTERM, and SIGKILL
// after the pod's grace period, or at once if the pod's object was deleted.
func (k *kubelet) execute(life context.Context, c corev1.Container, mounted mounts, message string, started func()) error {
	log, err := os.Create(k.logFile(c.Name))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := make([]string, 0, len(c.Args)+1)
	for _, arg := range c.Args {
		args = append(args, k.onThisMachine(mounted.place(c, arg)))
	}
	program, isMover := k.program()
	if isMover {
		args = append(args, "--termination-log="+message)
	}
	cmd := exec.Command(program, args...) //nolint:noctx // it has a grace period
	cmd.Stdout, cmd.Stderr, cmd.Env, cmd.Dir = log, log, k.environment(c), k.dir
	if err := k.isolate(life, cmd); err != nil {
		return err
	}
	if err := k.start(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	started()
	select {
	case err = <-ended:
	case <-life.Done():
		err = k.end(life, ended)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process = nil
	return err
}

// program returns the path of the pod's program, and whether it is the mover.
func (k *kubelet) program() (path string, isMover bool) {
	if name, named := k.pod().Labels[ProgramKey]; named {
		return k.player.options.Programs[name], false
	}
	return k.player.options.Program, true
}

// environment returns the variables of a container. It has none of this machine's variables, except the address on
// which the pod listens. A value may refer to earlier variables: $(POD_IP).
func (k *kubelet) environment(c corev1.Container) []string {
	pod, variables := k.pod(), []string{}
	for _, v := range c.Env {
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil {
			v.Value = map[string]string{
				"metadata.name": pod.Name, "metadata.uid": string(pod.UID), "spec.nodeName": pod.Spec.NodeName, "status.podIP": Here(k.status.address).String(),
			}[v.ValueFrom.FieldRef.FieldPath]
		}
		for _, before := range variables {
			name, value, _ := strings.Cut(before, "=")
			v.Value = strings.ReplaceAll(v.Value, "$("+name+")", value)
		}
		variables = append(variables, v.Name+"="+v.Value)
	}
	return variables
}

// isolate gives a process a network of its own, in which nothing is, if a NetworkPolicy restricts its pod. A mover that
// waits for a relay opens no connection, and a kubelet forwards ports into the network of a pod whatever restricts it.
func (k *kubelet) isolate(life context.Context, cmd *exec.Cmd) error {
	if manifest.Observe(k.pod()).Relayed {
		return nil
	}
	if k.player.options.Enforces == nil || !k.player.options.Enforces() {
		return nil
	}
	policies, err := k.player.client.NetworkingV1().NetworkPolicies(k.pod().Namespace).List(life, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range policies.Items {
		if slices.Contains(policies.Items[i].Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		}
	}
	return nil
}

func (k *kubelet) start(cmd *exec.Cmd) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		k.killed = false
		return errKilled
	}
	if err := child.Start(cmd); err != nil {
		return err
	}
	k.process = cmd.Process
	return nil
}

// end ends a process; if the player itself is stopped, it does so at once.
func (k *kubelet) end(life context.Context, ended <-chan error) error {
	if cause := context.Cause(life); !errors.Is(cause, errDeleted) && !errors.Is(cause, errLate) {
		k.kill()
		return <-ended
	}
	k.signal(syscall.SIGTERM)
	within, stop := context.WithTimeout(context.WithoutCancel(life), grace(k.pod()))
	defer stop()
	vanished := make(chan struct{})
	go func() {
		if _, err := k.await(within, func(v view) bool { return v.gone }); err == nil {
			close(vanished)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-within.Done():
	case <-vanished:
	}
	k.kill()
	return <-ended
}

func grace(pod *corev1.Pod) time.Duration {
	seconds := pod.DeletionGracePeriodSeconds
	if seconds == nil {
		seconds = pod.Spec.TerminationGracePeriodSeconds
	}
	if seconds == nil {
		return 0
	}
	return time.Duration(*seconds) * time.Second
}

// onThisMachine replaces addresses of the pods' network by those of this machine: the address to listen on, and that
// of a Service of this cluster to connect to.
func (k *kubelet) onThisMachine(arg string) string {
	flag, value, _ := strings.Cut(arg, "=")
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return arg
	}
	switch flag {
	case "--listen", "--relay":
		return flag + "=" + net.JoinHostPort(Here(k.status.address).String(), port)
	case "--connect":
		address, err := netip.ParseAddr(host)
		if err != nil {
			return arg
		}
		if to, known := k.player.balanced(address); known {
			return "--connect=" + net.JoinHostPort(to.String(), port)
		}
	}
	return arg
}
