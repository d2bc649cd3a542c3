package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// Records stores the state that cannot be observed again.
type Records interface {
	// Save writes the status, but only over the resourceVersion that m was read with, and sets the new
	// resourceVersion in m. If only part of the status was stored, the error is a records.NotStoredError.
	Save(ctx context.Context, m *api.Migration) error
	// Stores dry-runs Save. It returns nil if all of the status would be stored.
	Stores(ctx context.Context, m *api.Migration) error
	// TurnBack writes spec.mode: Rollback at once, with the automatic rollback of the status that is the
	// reason. It writes only over the resourceVersion that m was read with, and sets the new one in m.
	TurnBack(ctx context.Context, m *api.Migration) error
}

// statusStore writes the status of a migration.
type statusStore struct {
	records Records
	// heart writes the heartbeat of this process.
	heart heart
	// saved is the Migration as this engine last wrote it; a cache may still show an older version.
	saved *api.Migration
	// pruned is true after part of a status was not stored. From then on each status is dry-run before it is
	// written.
	pruned bool
	// kept is the Migration before a status of which only part was stored. It is kept until it is stored again;
	// nil means that nothing is pending.
	kept *api.Migration
}

// write writes the status. After part of a status was not stored, each one is dry-run first.
func (s *statusStore) write(ctx context.Context, m *api.Migration) error {
	if s.pruned {
		if err := s.records.Stores(ctx, m); err != nil {
			return err
		}
	}
	err := s.records.Save(ctx, m)
	s.pruned = s.pruned || notStored(err) != nil
	return err
}

// landed records a Migration that was written.
func (s *statusStore) landed(m *api.Migration) { s.saved, s.kept = m.DeepCopy(), nil }

// newest replaces m by the last written version if its resourceVersion is outdated.
func (s *statusStore) newest(m *api.Migration, outdated func(version string) bool) {
	if s.saved != nil && s.saved.UID == m.UID && outdated(m.ResourceVersion) {
		s.saved.DeepCopyInto(m)
	}
}

// putBack restores m to its state before a write of which only part was stored. If something was written, that
// state is kept until it is stored again.
func (s *statusStore) putBack(before, m *api.Migration) {
	version := m.ResourceVersion
	before.DeepCopyInto(m)
	if m.ResourceVersion = version; version != before.ResourceVersion {
		s.kept = before.DeepCopy()
	}
}

// recall restores the kept status in m, unless a process other than holder has taken over since.
func (s *statusStore) recall(m *api.Migration, holder string) {
	if s.kept == nil {
		return
	}
	fence := m.Status.Fence
	taken := fence != nil && fence.Holder != holder && !equality.Semantic.DeepEqual(fence, s.kept.Status.Fence)
	if taken || m.UID != s.kept.UID {
		s.kept = nil
		return
	}
	s.kept.Status.DeepCopyInto(&m.Status)
}

// notStored returns the error of a status of which only part was stored; nil for any other error.
func notStored(err error) *records.NotStoredError {
	found, _ := errors.AsType[*records.NotStoredError](err)
	return found
}

// unwritten reports whether the error of a write means that nothing of the status was stored.
func unwritten(err error) bool {
	lost := notStored(err)
	return err != nil && (lost == nil || lost.Refused != nil)
}

// holdUnstored returns the reason that stops a migration after only part of its status was stored.
func holdUnstored(lost *records.NotStoredError) *plan.Hold {
	remedy := "install the CRDs of this version: " + plan.Kubectl(localName, "").Migrate("install", "--crds-only")
	if lost.Refused != nil {
		return plan.Stalled(api.ReasonStatusNotStored,
			"the API server has rejected the status of the Migration, which the move needs: the CRD is of another version than this process, or a webhook has changed the status; nothing is written on either side without it; the answer: "+
				endpoint.OneLine(lost.Refused), remedy).Hold
	}
	return plan.Stalled(api.ReasonStatusNotStored,
		fmt.Sprintf("the API server has not stored %s of the Migration, which the move needs: the CRD is older than this process, or a webhook has changed the status; nothing is written on either side without it",
			strings.Join(lost.Fields, ", ")), remedy).Hold
}

// stallUnstored restores the status from before a write of which only part was stored, and reports why the
// migration has stopped. If it cannot store that either, nothing is written.
func (e *Engine) stallUnstored(ctx context.Context, before, m *api.Migration, lost *records.NotStoredError, outcome *Outcome) (planner.Step, error) {
	step := planner.Stall(*holdUnstored(lost))
	step.Snapshot = outcome.Snapshot
	outcome.Decision, outcome.Done, outcome.Finished = step.Decision, false, nil
	e.status.putBack(before, m)
	render(m, step.Snapshot, step.Decision)
	date(m, before.Status, e.clock.Now())
	if e.status.kept == nil && !changed(before, m) {
		return step, nil
	}
	err := e.status.records.Save(ctx, m)
	if step = e.save(step, m, err); unwritten(err) {
		return step, fmt.Errorf("putting back the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	outcome.saved(before, m)
	return step, nil
}

// holdUnstoredEarly is stallUnstored for the copy of an ordinal ahead of its turn: only that copy is held.
func (e *Engine) holdUnstoredEarly(ctx context.Context, before, m *api.Migration, lost *records.NotStoredError, ordinal int32) error {
	e.early.hold(ordinal, holdUnstored(lost), inAnswer, false, e.clock.Now())
	if e.status.putBack(before, m); e.status.kept == nil {
		return nil
	}
	err := e.status.records.Save(ctx, m)
	if e.save(planner.Step{Do: planner.Report}, m, err); unwritten(err) {
		return fmt.Errorf("putting back the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}
