package slice

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/internal/printable"
)

// defaultContainerAnnotationKey names the container of a pod that kubectl uses unless another one is given.
const defaultContainerAnnotationKey = "kubectl.kubernetes.io/default-container"

// logOf is the log of a container.
type logOf struct{ pod, container string }

// logs returns the logs of the pods' containers, in order.
func (o *logsOptions) logs(pods []*corev1.Pod) ([]logOf, error) {
	var logs []logOf
	for _, pod := range pods {
		if o.allContainers {
			regular, initial, ephemeral := containersOf(pod)
			for _, name := range slices.Concat(initial, regular, ephemeral) {
				logs = append(logs, logOf{pod.Name, name})
			}
			continue
		}
		container, err := o.containerOf(pod)
		if err != nil {
			return nil, err
		}
		logs = append(logs, logOf{pod.Name, container})
	}
	if o.log.Follow && len(logs) > o.maxRequests {
		return nil, fmt.Errorf("%d logs would be followed at once, more than --max-log-requests %d: raise it", len(logs), o.maxRequests)
	}
	return logs, nil
}

// containerOf returns the container whose log is printed.
func (o *logsOptions) containerOf(pod *corev1.Pod) (string, error) {
	regular, initial, ephemeral := containersOf(pod)
	all := slices.Concat(regular, marked(ephemeral, "ephem"), marked(initial, "init"))
	has := func(name string) bool {
		for _, each := range all {
			if known, _, _ := strings.Cut(each, " "); known == name {
				return true
			}
		}
		return false
	}
	if o.container != "" {
		if !has(o.container) {
			return "", fmt.Errorf("container %s is not valid for pod %s out of: %s", o.container, pod.Name, strings.Join(all, ", "))
		}
		return o.container, nil
	}
	if name := pod.Annotations[defaultContainerAnnotationKey]; name != "" {
		if has(name) {
			return name, nil
		}
		fmt.Fprintf(o.ErrOut, "Default container name %q not found in pod %s\n", name, pod.Name)
	}
	first := pod.Spec.Containers[0].Name
	if len(all) > 1 && !o.allPods {
		fmt.Fprintf(o.ErrOut, "Defaulted container %q out of: %s\n", first, strings.Join(all, ", "))
	}
	return first, nil
}

// containersOf returns the names of a pod's containers, and of its init and ephemeral ones.
func containersOf(pod *corev1.Pod) (regular, initial, ephemeral []string) {
	for i := range pod.Spec.Containers {
		regular = append(regular, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.InitContainers {
		initial = append(initial, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		ephemeral = append(ephemeral, pod.Spec.EphemeralContainers[i].Name)
	}
	return regular, initial, ephemeral
}

// marked adds the type of containers to their names, as kubectl lists them.
func marked(names []string, kind string) []string {
	for i := range names {
		names[i] += " (" + kind + ")"
	}
	return names
}

// sink returns the writer for logs. On a terminal it escapes control characters.
func (o *logsOptions) sink() io.Writer {
	if o.Terminal() {
		return o.Out
	}
	return printable.Behind(o.Out)
}

// follow prints several logs at once, line by line, until all have ended or one fails.
func (o *logsOptions) follow(ctx context.Context, logs []logOf) error {
	out := &locked{out: o.sink()}
	group, ctx := errgroup.WithContext(ctx)
	for _, each := range logs {
		group.Go(func() error { return o.print(ctx, each, out) })
	}
	return group.Wait()
}

// locked is a writer for several goroutines. Each call is written as a whole.
type locked struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(data)
}

// print prints a log. While it is followed, it waits for a container that has not started.
func (o *logsOptions) print(ctx context.Context, each logOf, out io.Writer) error {
	deadline := o.Clock.Now().Add(o.podTimeout)
	for {
		err := o.copy(ctx, each, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		err = fmt.Errorf("the log of container %s of pod %s: %w", each.container, each.pod, err)
		var answer apierrors.APIStatus
		switch {
		case o.ignoreErrors:
			fmt.Fprintf(o.ErrOut, "error: %v\n", err)
			return nil
		case !o.log.Follow, !errors.As(err, &answer), !o.Clock.Now().Before(deadline):
			return err
		}
		fmt.Fprintf(o.ErrOut, "%v\n", err)
		if err := o.pause(ctx); err != nil {
			return err
		}
	}
}

// copy copies the lines of a log to its end.
func (o *logsOptions) copy(ctx context.Context, each logOf, out io.Writer) error {
	options := o.log.DeepCopy()
	options.Container = each.container
	log, err := o.client.GetLogs(each.pod, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	var prefix []byte
	if o.prefix {
		prefix = fmt.Appendf(nil, "[pod/%s/%s] ", each.pod, each.container)
	}
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := out.Write(bytes.Join([][]byte{prefix, line}, nil)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
