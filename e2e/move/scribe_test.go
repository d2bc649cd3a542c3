package move

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// scribe is the application of a chaos run: each Ready pod appends lines to a file of its volume. A pod does not end while it
// writes, because it has a finalizer for that time.
type scribe struct {
	*chaosRun
	stop  context.CancelFunc
	ended sync.WaitGroup
	// lines are those that were written, by ordinal.
	lines map[int32]int
}

const (
	// writing is the finalizer of a pod while it writes.
	writing = "e2e.sliceshift.io/writing"
	journal = "journal"
	// betweenLines is the pause between two lines.
	betweenLines = 50 * time.Millisecond
)

// writes starts the application.
func (r *chaosRun) writes() *scribe {
	ctx, stop := context.WithCancel(r.Ctx)
	s := &scribe{chaosRun: r, stop: stop, lines: map[int32]int{}}
	r.T.Cleanup(s.end)
	s.ended.Go(func() {
		for ordinal := int32(0); ctx.Err() == nil; ordinal = (ordinal + 1) % r.App.Replicas {
			s.write(ctx, ordinal)
			harness.Sleep(ctx, betweenLines)
		}
	})
	return s
}

// end stops the application.
func (s *scribe) end() {
	s.stop()
	s.ended.Wait()
}

// write appends a line in the pod of an ordinal, if that runs. The auditor has compared its volume before.
func (s *scribe) write(ctx context.Context, ordinal int32) {
	name := fmt.Sprintf("%s-%d", s.App.Name, ordinal)
	pod, err := s.Source.CoreV1().Pods(s.App.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || pod.DeletionTimestamp != nil || !fixture.IsReady(pod) || !s.Auditor.Judged(pod.UID, 1) {
		return
	}
	defer s.release(pod)
	if err := s.hold(ctx, pod, []string{writing}); err != nil {
		return // it may have been added all the same
	}
	volume, err := s.volumeOf(ctx, name)
	if err != nil {
		return
	}
	file, err := os.OpenFile(filepath.Join(volume.Spec.HostPath.Path, journal), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.T.Errorf("ordinal %d cannot write: %v", ordinal, err)
		return
	}
	if _, err := fmt.Fprintln(file, s.lines[ordinal]); err != nil {
		s.T.Error(err)
	}
	if err := file.Close(); err != nil {
		s.T.Error(err)
	}
	s.lines[ordinal]++
}

// volumeOf returns the volume of an ordinal's claim, whatever the state of that claim. It cannot change while the pod runs.
func (s *scribe) volumeOf(ctx context.Context, pod string) (*corev1.PersistentVolume, error) {
	claim, err := s.Source.CoreV1().PersistentVolumeClaims(s.App.Namespace).Get(ctx, "data-"+pod, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return s.Source.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
}

// hold sets the finalizers of a pod, in the version that was read if there are any.
func (s *scribe) hold(ctx context.Context, pod *corev1.Pod, finalizers []string) error {
	metadata := map[string]any{"uid": pod.UID, "finalizers": finalizers}
	if len(finalizers) > 0 {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = s.Source.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// release lets a pod end again. It insists, because nothing else removes the finalizer.
func (s *scribe) release(pod *corev1.Pod) {
	err := s.insist(func(ctx context.Context) error {
		err := s.hold(ctx, pod, nil)
		if !apierrors.IsConflict(err) {
			return err
		}
		now, err := s.Source.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && now.UID == pod.UID {
			return fmt.Errorf("pod %s still has its finalizer", pod.Name)
		}
		return err
	})
	if err != nil && s.Ctx.Err() == nil {
		s.T.Error(err)
	}
}

// total returns how many lines were written.
func (s *scribe) total() (n int) {
	for _, lines := range s.lines {
		n += lines
	}
	return n
}

// expectLines checks that the volume of each ordinal has all lines of its pods, and no other ones.
func (s *scribe) expectLines() {
	s.T.Helper()
	for ordinal := range s.App.Replicas {
		volume, err := s.volumeOf(s.Ctx, fmt.Sprintf("%s-%d", s.App.Name, ordinal))
		s.Must(err)
		data, err := os.ReadFile(filepath.Join(volume.Spec.HostPath.Path, journal))
		s.Must(err)
		var want strings.Builder
		for n := range s.lines[ordinal] {
			fmt.Fprintln(&want, n)
		}
		if string(data) != want.String() {
			s.T.Errorf("ordinal %d has written %d lines, and its volume %s has %d bytes of them instead of %d", ordinal, s.lines[ordinal], volume.Name, len(data), want.Len())
		}
	}
}
