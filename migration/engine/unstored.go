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

// store writes the status. After part of a status was not stored, each one is dry-run first.
func (e *Engine) store(ctx context.Context, m *api.Migration) error {
	if e.unstored {
		if err := e.records.Stores(ctx, m); err != nil {
			return err
		}
	}
	err := e.records.Save(ctx, m)
	e.unstored = e.unstored || notStored(err) != nil
	return err
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
	if lost.Refused != nil {
		return plan.Stalled(api.ReasonStatusNotStored,
			"the API server has rejected the status of the Migration, which the move needs: the CRD is of another version than this process, or a webhook has changed the status; nothing is written on either side without it; the answer: "+
				endpoint.OneLine(lost.Refused),
			"install the CRDs of this version: "+plan.Kubectl(localName, "").Migrate("install", "--crds-only")).Hold
	}
	return plan.Stalled(api.ReasonStatusNotStored,
		fmt.Sprintf("the API server has not stored %s of the Migration, which the move needs: the CRD is older than this process, or a webhook has changed the status; nothing is written on either side without it",
			strings.Join(lost.Fields, ", ")),
		"install the CRDs of this version: "+plan.Kubectl(localName, "").Migrate("install", "--crds-only")).Hold
}

// stallUnstored restores the status from before a write of which only part was stored, and reports why the
// migration has stopped. If it cannot store that either, nothing is written.
func (e *Engine) stallUnstored(ctx context.Context, before, m *api.Migration, lost *records.NotStoredError, outcome *Outcome) (planner.Step, error) {
	step := planner.Stall(*holdUnstored(lost))
	step.Snapshot = outcome.Snapshot
	outcome.Decision, outcome.Done, outcome.Finished = step.Decision, false, nil
	e.putBack(before, m)
	render(m, step.Snapshot, step.Decision)
	date(m, before.Status, e.clock.Now())
	if e.kept == nil && !changed(before, m) {
		return step, nil
	}
	err := e.records.Save(ctx, m)
	if step = e.save(step, m, err); unwritten(err) {
		return step, fmt.Errorf("putting back the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	outcome.saved(before, m)
	return step, nil
}

// holdUnstoredEarly is stallUnstored for the copy of an ordinal ahead of its turn: only that copy is held.
func (e *Engine) holdUnstoredEarly(ctx context.Context, before, m *api.Migration, lost *records.NotStoredError, ordinal int32) error {
	e.holdEarly(ordinal, holdUnstored(lost), inAnswer, false)
	if e.putBack(before, m); e.kept == nil {
		return nil
	}
	err := e.records.Save(ctx, m)
	if e.save(planner.Step{Do: planner.Report}, m, err); unwritten(err) {
		return fmt.Errorf("putting back the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

// putBack restores m to its state before a write of which only part was stored. If something was written, that
// state is kept until it is stored again.
func (e *Engine) putBack(before, m *api.Migration) {
	version := m.ResourceVersion
	before.DeepCopyInto(m)
	if m.ResourceVersion = version; version != before.ResourceVersion {
		e.kept = before.DeepCopy()
	}
}

// recall restores the kept status in m, unless another process has taken over since.
func (e *Engine) recall(m *api.Migration) {
	if e.kept == nil {
		return
	}
	fence := m.Status.Fence
	taken := fence != nil && fence.Holder != e.state.Holder && !equality.Semantic.DeepEqual(fence, e.kept.Status.Fence)
	if taken || m.UID != e.kept.UID {
		e.kept = nil
		return
	}
	e.kept.Status.DeepCopyInto(&m.Status)
}
