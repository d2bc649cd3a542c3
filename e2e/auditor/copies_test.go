package auditor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/internal/treediff"
)

// auditCopies starts the auditor for a stage that copies content.
func (s *stage) auditCopies() *Auditor {
	s.t.Helper()
	side := func(e *end) Side {
		return Side{Name: e.name, Config: e.config, Namespace: e.namespace, Set: e.set}
	}
	a, err := Start(s.t.Context(), Options{
		Source: side(s.ends[judge.Source]), Destination: side(s.ends[judge.Destination]), Copied: []string{claimTemplate}, Content: treediff.Compare,
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
	s.changeVolume(judge.Source, pv.Name, retain)
	s.scale(judge.Source, 0, 1)
	s.untilGone(judge.Source, 1)
	s.changeVolume(judge.Source, pv.Name, park)
	s.claimVolume(1, s.recreateVolume(pv, 1, folder))
	s.deploy(judge.Destination, makeSet(1, 1, claimTemplate))
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
	s.untilViolated(a, I3, "which was to be copied and not to be carried over")
}

// stageEarlyCopy gives the destination its claim while the source still has its own.
func stageEarlyCopy(s *stage) {
	pv := s.deployWithData()
	a := s.auditCopies()
	s.claimVolume(1, s.recreateVolume(pv, 1, s.copyOf(pv)))
	s.untilViolated(a, I2, "what is copied was usable on both sides at once")
}

// TestCopiesNeedContent: Copied without a Content function is an error.
func TestCopiesNeedContent(t *testing.T) {
	_, err := Options{Copied: []string{claimTemplate}}.complete()
	if err == nil {
		t.Error("it is taken")
	}
}
