package player

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// kubelet runs one pod.
type kubelet struct {
	player *Player
	dir    string
	status status // only for the goroutine of run

	mu      sync.Mutex
	now     view // the last state that it has seen
	unseen  *view
	silent  bool
	changed chan struct{} // closed when any of these changes
	process *os.Process   // nil: none runs
	killed  bool
}

// view is the observed state of a pod, and whether the pod is deleted since.
type view struct {
	pod  *corev1.Pod
	gone bool
}

// leaving reports whether the pod was deleted.
func (v view) leaving() bool { return v.gone || v.pod.DeletionTimestamp != nil }

var (
	errDeleted = errors.New("the pod was deleted")
	errLate    = errors.New("the pod was active on the node longer than the specified deadline")
)

func newKubelet(p *Player, pod *corev1.Pod, dir string) *kubelet {
	return &kubelet{player: p, dir: dir, now: view{pod: pod}, changed: make(chan struct{})}
}

// change wakes all waiting goroutines. The caller holds the lock.
func (k *kubelet) change() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// see records a state from the API server. While the node is cut off, it is stored for later.
func (k *kubelet) see(pod *corev1.Pod, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := view{pod: pod, gone: gone}
	if k.silent {
		k.unseen = &next
		return
	}
	k.now = next
	k.change()
}

func (k *kubelet) silence(silent bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.silent = silent
	if !silent && k.unseen != nil {
		k.now, k.unseen = *k.unseen, nil
	}
	k.change()
}

// await waits until the observed state satisfies a condition. While the node is cut off, it keeps waiting.
func (k *kubelet) await(ctx context.Context, so func(view) bool) (view, error) {
	for {
		k.mu.Lock()
		now, silent, changed := k.now, k.silent, k.changed
		k.mu.Unlock()
		if !silent && so(now) {
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return now, context.Cause(ctx)
		}
	}
}

func (k *kubelet) pod() *corev1.Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now.pod
}

func (k *kubelet) at(step Step) { k.player.tell(Moment{Step: step, Pod: k.pod(), kubelet: k}) }

func (k *kubelet) signal(s syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process != nil {
		_ = k.process.Signal(s)
	}
}

func (k *kubelet) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		k.killed = true
		return
	}
	_ = k.process.Kill()
}

// run handles the pod from its creation to its deletion.
func (k *kubelet) run(ctx context.Context) {
	v, err := k.await(ctx, func(v view) bool { return v.gone || v.pod.Spec.NodeName != "" })
	if err != nil || v.gone {
		return
	}
	k.status = newStatus(v.pod)
	switch {
	case finished(v.pod):
	case v.pod.Status.StartTime != nil:
		k.status.lost() // another player has run it, and none of its processes remains
		k.write(ctx)
	default:
		k.live(ctx, v.pod)
		k.write(ctx)
	}
	k.unmount(ctx)
	if v, err = k.await(ctx, view.leaving); err != nil || v.gone {
		return
	}
	k.at(StepDelete)
	k.remove(ctx)
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// live runs the pod until its processes have ended.
func (k *kubelet) live(ctx context.Context, pod *corev1.Pod) {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	k.player.running.Go(func() {
		if _, err := k.await(life, view.leaving); err == nil {
			end(errDeleted)
		}
	})
	if seconds := pod.Spec.ActiveDeadlineSeconds; seconds != nil {
		var stop context.CancelFunc
		life, stop = context.WithTimeoutCause(life, time.Duration(*seconds)*time.Second, errLate)
		defer stop()
	}
	switch err := k.play(life, pod); {
	case errors.Is(err, errLate):
		k.status.late()
	case err != nil && !errors.Is(err, errDeleted) && ctx.Err() == nil:
		k.status.phase, k.status.message = corev1.PodFailed, err.Error()
		k.player.log.Printf("pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
}

// play runs the containers, one after the other, for as long as the pod may live. Their results are in the status.
func (k *kubelet) play(life context.Context, pod *corev1.Pod) error {
	k.write(life)
	k.at(StepMount)
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return err
	}
	mounted, err := k.mount(life, pod)
	if err != nil {
		return err
	}
	for _, c := range pod.Spec.InitContainers {
		k.at(StepKey)
		if good, err := k.container(life, c, mounted, &k.status.key); !good {
			return err
		}
		k.write(life)
	}
	for _, c := range pod.Spec.Containers {
		k.at(StepStart)
		if good, err := k.container(life, c, mounted, &k.status.main); !good {
			return err
		}
	}
	k.status.phase = corev1.PodSucceeded
	return nil
}

// container runs one container. good is false if the pod ends with it.
func (k *kubelet) container(life context.Context, c corev1.Container, mounted mounts, state *corev1.ContainerState) (good bool, err error) {
	if life.Err() != nil {
		return false, context.Cause(life)
	}
	began := metav1.Now()
	message := filepath.Join(k.dir, c.Name+"-termination-log")
	err = k.execute(life, c, mounted, message, func() {
		*state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
		if state == &k.status.main {
			k.status.phase = corev1.PodRunning
			k.at(StepStarted)
		}
		k.write(life)
	})
	ended := terminated(err, message, k.logFile(c.Name))
	ended.StartedAt, ended.FinishedAt = began, metav1.Now()
	*state = corev1.ContainerState{Terminated: ended}
	if state == &k.status.main {
		k.at(StepEnded)
	}
	if errors.Is(context.Cause(life), errLate) {
		return false, errLate
	}
	if ended.ExitCode != 0 {
		k.status.phase = corev1.PodFailed
	}
	return ended.ExitCode == 0, nil
}

func (k *kubelet) logFile(container string) string { return filepath.Join(k.dir, container+".log") }

// write writes the status to the API server, and retries until it succeeds or the pod's object no longer exists.
func (k *kubelet) write(ctx context.Context) {
	pod := k.pod()
	patch, err := k.status.patch(pod)
	if err != nil {
		k.player.log.Printf("pod %s/%s: %v", pod.Namespace, pod.Name, err)
		return
	}
	k.untilWritten(ctx, func(ctx context.Context) error {
		_, err := k.player.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, patchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// remove deletes the object of a deleted pod, with its UID as a precondition.
func (k *kubelet) remove(ctx context.Context) {
	pod := k.pod()
	k.untilWritten(ctx, func(ctx context.Context) error {
		return k.player.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
		})
	})
}

func (k *kubelet) untilWritten(ctx context.Context, write func(context.Context) error) {
	_ = wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		if _, err := k.await(ctx, func(view) bool { return true }); err != nil {
			return false, err
		}
		err := write(ctx)
		// NotFound and Conflict mean that the pod is deleted, or that another pod has the name.
		return err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err), nil
	})
}
