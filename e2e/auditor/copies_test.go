package auditor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// auditCopies starts the auditor for a stage that copies content. It keeps a copy of each content that it has compared.
func (s *stage) auditCopies() *Auditor {
	s.t.Helper()
	side := func(e *end) Side {
		return Side{Name: e.name, Config: e.config, Namespace: e.namespace, Set: e.set}
	}
	a, err := Start(s.t.Context(), Options{
		Source: side(s.ends[judge.Source]), Destination: side(s.ends[judge.Destination]), Copied: []string{claimTemplate}, Content: treediff.Compare,
		Keep: func(ctx context.Context, from string) (string, error) {
			kept := filepath.Join(s.t.TempDir(), "kept")
			return kept, treediff.Keep(ctx, from, kept)
		},
	})
	s.must(err)
	return a
}

// deployWithData deploys two ordinals, of which ordinal 1 has data, and returns its volume.
func (s *stage) deployWithData() *corev1.PersistentVolume {
	s.t.Helper()
	s.deploy(judge.Source, makeSet(0, 2, claimTemplate))
	pv := s.volumeOf(judge.Source, 1)
	s.must(os.WriteFile(filepath.Join(pv.Spec.HostPath.Path, "journal"), []byte("one\ntwo\n"), 0o600))
	return pv
}

// copyOf copies the content of a volume to a new folder.
func (s *stage) copyOf(pv *corev1.PersistentVolume) string {
	s.t.Helper()
	to := filepath.Join(s.t.TempDir(), "copy")
	s.must(exec.CommandContext(s.t.Context(), "cp", "-a", pv.Spec.HostPath.Path, to).Run())
	return to
}

// takeOver stops ordinal 1 at the source and starts it at the destination on a folder.
func (s *stage) takeOver(pv *corev1.PersistentVolume, folder string) {
	s.t.Helper()
	s.give(pv, folder)
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
}

// give stops ordinal 1 at the source and gives a folder to its claim at the destination, where it does not start.
func (s *stage) give(pv *corev1.PersistentVolume, folder string) {
	s.t.Helper()
	s.changeVolume(judge.Source, pv.Name, retain)
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.changeVolume(judge.Source, pv.Name, park)
	s.claimVolume(1, s.recreateVolume(pv, 1, folder))
}

// sealed gives a correct copy to ordinal 1 and waits until the auditor has compared it. It returns the folder.
func (s *stage) sealed(a *Auditor, pv *corev1.PersistentVolume) string {
	s.t.Helper()
	folder := s.copyOf(pv)
	s.give(pv, folder)
	s.until("the copy was compared before its pod exists", func(context.Context) (bool, error) { return a.Sealed() == 1, nil })
	return folder
}

// written appends to the data in a folder.
func (s *stage) written(folder string) {
	s.t.Helper()
	file, err := os.OpenFile(filepath.Join(folder, "journal"), os.O_APPEND|os.O_WRONLY, 0)
	s.must(err)
	_, err = file.WriteString("three\n")
	s.must(errors.Join(err, file.Close()))
}

// stageWrites lets ordinal 1 write as soon as it starts. Its copy was compared before.
func stageWrites(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.written(s.sealed(a, pv))
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
	s.until("the pod is judged", func(context.Context) (bool, error) { return a.Compared() == 1, nil })
	if r := a.Finish(s.t.Context()); !r.OK() || r.ContentsCompared != 1 || r.ContentsSealed != 1 {
		s.t.Errorf("want it agreed to, got\n%s", r)
	}
}

// stageTornSeal gives an incomplete copy to ordinal 1, which never starts on it.
func stageTornSeal(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	folder := s.copyOf(pv)
	s.must(os.Truncate(filepath.Join(folder, "journal"), 4))
	s.give(pv, folder)
	s.untilViolated(a, I3, "was given to claim "+s.ends[judge.Destination].claimOf(1)+", but its content is not that of", "journal")
}

// stageChangedSource writes to the volume that ordinal 1 has left, after it has started on its copy.
func stageChangedSource(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.sealed(a, pv)
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
	s.until("the pod is judged", func(context.Context) (bool, error) { return a.Compared() == 1, nil })
	s.written(pv.Spec.HostPath.Path)
	r := a.Finish(s.t.Context())
	if len(r.Violations) != 1 || r.Violations[0].Invariant != I3 || !strings.Contains(r.Violations[0].Message, "which the ordinal has left, has changed since its copy was sealed") {
		s.t.Errorf("want the change of the source refuted, got\n%s", r)
	}
}

// stageCopy copies ordinal 1 correctly.
func stageCopy(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.takeOver(pv, s.copyOf(pv))
	s.until("the contents were compared", func(context.Context) (bool, error) { return a.Compared() == 1, nil })
	if r := a.Finish(s.t.Context()); !r.OK() || r.ContentsCompared != 1 {
		s.t.Errorf("want it agreed to, got\n%s", r)
	}
}

// stageTornCopy starts ordinal 1 on an incomplete copy.
func stageTornCopy(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	folder := s.copyOf(pv)
	s.must(os.Truncate(filepath.Join(folder, "journal"), 4))
	s.takeOver(pv, folder)
	s.untilViolated(a, I3, "its content is not that of", "journal")
}

// stageRebound starts ordinal 1 on the original disk instead of a copy.
func stageRebound(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.takeOver(pv, "")
	s.untilViolated(a, I3, "which should have been copied, not carried over")
}

// stageEarlyCopy gives the destination its claim while the source still has its own.
func stageEarlyCopy(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.claimVolume(1, s.recreateVolume(pv, 1, s.copyOf(pv)))
	s.untilViolated(a, I2, "a copied volume was usable on both sides at once")
}

// TestCopiesNeedContent: Copied without a Content function is an error.
func TestCopiesNeedContent(t *testing.T) {
	_, err := Options{Copied: []string{claimTemplate}}.complete()
	if err == nil {
		t.Error("it is taken")
	}
}
