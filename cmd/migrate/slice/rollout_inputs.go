package slice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

func hasInputs(revision *appsv1.ControllerRevision) bool {
	return revision.Annotations[slicesapi.RevisionInputsAnnotationKey] != ""
}

// inputsCell returns the inputs of a revision for a table.
func inputsCell(revision *appsv1.ControllerRevision) string {
	records, err := inputs.RecordsOf(revision)
	if err != nil {
		return "<unreadable>"
	}
	cells := make([]string, 0, len(records))
	for _, record := range records {
		cells = append(cells, fmt.Sprintf("%s/%s:%s", record.Kind, record.Name, record.Content))
	}
	return strings.Join(cells, ",")
}

// inputsText returns the inputs of a revision with their copies, one line each.
func inputsText(revision *appsv1.ControllerRevision) string {
	records, err := inputs.RecordsOf(revision)
	if err != nil {
		return fmt.Sprintf("Revision Inputs: %v\n", err)
	}
	var text strings.Builder
	if len(records) > 0 {
		text.WriteString("Revision Inputs:\n")
	}
	for _, record := range records {
		fmt.Fprintf(&text, "  %s: content %s", record.Ref(), record.Content)
		if record.Content != slicesapi.InputAbsent {
			fmt.Fprintf(&text, ", copy %s", record.Copy())
		}
		text.WriteString("\n")
	}
	return text.String()
}

// updateIndex returns the index of the update revision, or -1.
func (s *statefulSet) updateIndex(revisions []*appsv1.ControllerRevision) int {
	return slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Name == s.Status.UpdateRevision })
}

// newestInputs returns the inputs of the newest revision, which is that of the template.
func newestInputs(revisions []*appsv1.ControllerRevision) ([]inputs.Record, error) {
	if len(revisions) == 0 {
		return nil, nil
	}
	return inputs.RecordsOf(revisions[len(revisions)-1])
}

// restoredInputs returns the list of inputs by which pods get the contents of a revision: its inputs, and the listed objects
// that its template does not name.
func (s *statefulSet) restoredInputs(ctx context.Context, revision *appsv1.ControllerRevision, newest []inputs.Record) ([]slicesapi.RevisionInput, error) {
	records, err := inputs.RecordsOf(revision)
	if err != nil {
		return nil, err
	}
	template, err := history.Apply(revision)
	if err != nil {
		return nil, err
	}
	var restored []slicesapi.RevisionInput
	for _, record := range records {
		now, err := s.contentNow(ctx, record.Ref(), newest)
		if err != nil {
			return nil, err
		}
		input := slicesapi.RevisionInput{Kind: record.Kind, Name: record.Name}
		if now != record.Content {
			input.RolledBack = &slicesapi.RolledBackInput{From: now, To: record.Content}
		}
		restored = append(restored, input)
	}
	named := inputs.NamedBy(&template, s.Spec.RevisionInputs)
	for _, input := range s.Spec.RevisionInputs {
		if !slices.ContainsFunc(named, func(n inputs.Named) bool { return n.Kind == input.Kind && n.Name == input.Name }) {
			restored = append(restored, input)
		}
	}
	return restored, nil
}

// contentNow returns the content of an object. Without the right to read it, it is the content of the newest revision.
func (s *statefulSet) contentNow(ctx context.Context, ref inputs.Ref, newest []inputs.Record) (string, error) {
	object := inputs.New(ref.Kind)
	err := s.connection.Live().Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, object)
	switch {
	case err == nil:
		return inputs.ContentOf(object), nil
	case apierrors.IsNotFound(err):
		return slicesapi.InputAbsent, nil
	}
	at := slices.IndexFunc(newest, func(r inputs.Record) bool { return r.Ref() == ref })
	if !apierrors.IsForbidden(err) || at < 0 {
		return "", fmt.Errorf("cluster %s: reading %s of namespace %s: %w", s.connection.Name(), ref, s.Namespace, err)
	}
	for _, input := range s.Spec.RevisionInputs {
		back := input.RolledBack
		if input.Kind == ref.Kind && input.Name == ref.Name && back != nil && back.To == newest[at].Content {
			return back.From, nil
		}
	}
	return newest[at].Content, nil
}

// warnInputs prints which objects keep their content, and which are no longer inputs.
func (o *rolloutUndoOptions) warnInputs(s *statefulSet, revision *appsv1.ControllerRevision, restored []slicesapi.RevisionInput) {
	for _, input := range restored {
		if back := input.RolledBack; back != nil {
			fmt.Fprintf(o.ErrOut, "%s: %s %s keeps its content %s, and pods get %s of revision %d; another content is rolled out\n",
				s.title(), input.Kind, input.Name, back.From, back.To, revision.Revision)
		}
	}
	for _, input := range s.Spec.RevisionInputs {
		if !slices.ContainsFunc(restored, func(r slicesapi.RevisionInput) bool { return r.Kind == input.Kind && r.Name == input.Name }) {
			fmt.Fprintf(o.ErrOut, "%s: revision %d does not have %s %s: spec.revisionInputs no longer lists it\n", s.title(), revision.Revision, input.Kind, input.Name)
		}
	}
}
