package handoff

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // move.sh
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	// floorPoll is the poll interval of the floor.
	floorPoll = 2 * time.Millisecond
	// nudgeAfter is when an unbound claim is changed, once. A volume binder that saw the claim before its volume
	// retries only at a change, or at its next resync 15 s later (kubernetes pv_controller_base.go), which would not
	// be a floor.
	nudgeAfter = 500 * time.Millisecond
)

var nudge = []byte(`{"metadata":{"annotations":{"bench.sliceshift.io/nudge":""}}}`)

// floor is the contender that performs only the writes of the script, as fast as the API servers accept them.
type floor struct {
	source, destination kubernetes.Interface
}

func (f *floor) move(ctx context.Context, app fixture.App) (measure.Timing, error) {
	taken := measure.Timing{Begin: time.Now()}
	for k := app.Start + app.Replicas - 1; k >= app.Start; k-- {
		if err := f.handoff(ctx, app, k); err != nil {
			return taken, fmt.Errorf("ordinal %d: %w", k, err)
		}
		taken.Arrived = append(taken.Arrived, time.Now())
	}
	return taken, nil
}

func (f *floor) handoff(ctx context.Context, app fixture.App, k int32) error {
	claim, volume, err := f.secure(ctx, app, k)
	if err != nil {
		return err
	}
	if err := f.stop(ctx, app, k); err != nil {
		return err
	}
	if err := f.bind(ctx, claim, volume); err != nil {
		return err
	}
	return f.start(ctx, app, k)
}

// secure sets the ordinal's volume to Retain.
func (f *floor) secure(ctx context.Context, app fixture.App, k int32) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	claim, err := f.source.CoreV1().PersistentVolumeClaims(app.Namespace).Get(ctx, fmt.Sprintf("%s-%s-%d", measure.Template, app.Name, k), metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	retain := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	volume, err := f.source.CoreV1().PersistentVolumes().Patch(ctx, claim.Spec.VolumeName, types.MergePatchType, retain, metav1.PatchOptions{})
	return claim, volume, err
}

// stop removes the ordinal from the source and waits until its pod is deleted.
func (f *floor) stop(ctx context.Context, app fixture.App, k int32) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, k-app.Start)
	if _, err := f.source.AppsV1().StatefulSets(app.Namespace).Patch(ctx, app.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return awaitPod(ctx, f.source, app, k, func(pod *corev1.Pod) bool { return pod == nil })
}

// awaitPod waits for a state of an ordinal's pod; the pod is nil if there is none.
func awaitPod(ctx context.Context, at kubernetes.Interface, app fixture.App, k int32, is func(*corev1.Pod) bool) error {
	pods, name := at.CoreV1().Pods(app.Namespace), fmt.Sprintf("%s-%d", app.Name, k)
	return wait.PollUntilContextCancel(ctx, floorPoll, true, func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return is(nil), nil
		}
		return err == nil && is(pod), err
	})
}

// bind creates volume and claim at the destination and waits until they are bound.
func (f *floor) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) error {
	newVolume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume.Name}, Spec: *volume.Spec.DeepCopy()}
	newVolume.Spec.ClaimRef.UID, newVolume.Spec.ClaimRef.ResourceVersion = "", ""
	if _, err := f.destination.CoreV1().PersistentVolumes().Create(ctx, newVolume, metav1.CreateOptions{}); err != nil {
		return err
	}
	claims := f.destination.CoreV1().PersistentVolumeClaims(claim.Namespace)
	newClaim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: claim.Labels},
		Spec:       claim.Spec,
	}
	if _, err := claims.Create(ctx, newClaim, metav1.CreateOptions{}); err != nil {
		return err
	}
	begin, nudged := time.Now(), false
	return wait.PollUntilContextCancel(ctx, floorPoll, true, func(ctx context.Context) (bool, error) {
		now, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err == nil && !nudged && time.Since(begin) > nudgeAfter {
			nudged = true
			_, err = claims.Patch(ctx, claim.Name, types.MergePatchType, nudge, metav1.PatchOptions{})
		}
		return err == nil && now.Status.Phase == corev1.ClaimBound, err
	})
}

// start adds the ordinal to the destination and waits until its pod is Ready.
func (f *floor) start(ctx context.Context, app fixture.App, k int32) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d,"ordinals":{"start":%d}}}`, app.Start+app.Replicas-k, k)
	if _, err := f.destination.AppsV1().StatefulSets(app.Namespace).Patch(ctx, app.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return awaitPod(ctx, f.destination, app, k, func(pod *corev1.Pod) bool { return pod != nil && fixture.IsReady(pod) })
}

//go:embed move.sh
var moveScript []byte

// script is the contender that users write themselves.
type script struct {
	path string
	env  []string
}

// newScript writes the script to a file and builds a kubectl for it, whose caches are kept between runs, as in a
// user's home.
func (b *bench) newScript(ctx context.Context) (*script, error) {
	kubectl, err := b.Kubectl(ctx)
	if err != nil {
		return nil, err
	}
	s := &script{path: filepath.Join(b.Dir, "move.sh"), env: append(os.Environ(),
		"PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+b.east.Kubeconfig()+string(os.PathListSeparator)+b.west.Kubeconfig(),
		"KUBECACHEDIR="+filepath.Join(b.Dir, "kubectl-cache"),
	)}
	return s, os.WriteFile(s.path, moveScript, 0o600)
}

// move runs the script and records when it prints a line: one at the start, and one for each ordinal that has arrived.
func (s *script) move(ctx context.Context, app fixture.App) (measure.Timing, error) {
	cmd := exec.CommandContext(ctx, "bash", s.path, "east", "west", app.Namespace, app.Name, measure.Template)
	cmd.Env = s.env
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return measure.Timing{}, err
	}
	if err := measure.Spawn(cmd); err != nil {
		return measure.Timing{}, err
	}
	var taken measure.Timing
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch now := time.Now(); {
		case strings.HasPrefix(lines.Text(), "moving "):
			taken.Begin = now
		case strings.HasPrefix(lines.Text(), "ordinal "):
			taken.Arrived = append(taken.Arrived, now)
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return taken, fmt.Errorf("move.sh: %w\n%s", err, bytes.TrimSpace(complaints.Bytes()))
	}
	return taken, nil
}
