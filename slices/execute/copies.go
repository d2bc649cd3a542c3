package execute

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
	"github.com/sliceshift/sliceshift/slices/observe"
)

// writeCopy is the verb of copies in metrics.
const writeCopy = "CopyInput"

// Copies ensures that the copies of a revision's inputs exist and belong to it. objects are the objects as read from the API
// server. It returns why pods of the revision would not get their inputs, or an empty string.
func (w Writer) Copies(ctx context.Context, set *api.StatefulSet, revision *appsv1.ControllerRevision, objects map[inputs.Ref]client.Object) string {
	records, err := inputs.RecordsOf(revision)
	if err != nil {
		return err.Error()
	}
	for _, record := range records {
		if problem := w.copy(ctx, set, revision, record, objects[record.Ref()]); problem != "" {
			return problem
		}
	}
	return ""
}

// copy ensures one copy. object is the original, or nil.
func (w Writer) copy(ctx context.Context, set *api.StatefulSet, revision *appsv1.ControllerRevision, record inputs.Record, object client.Object) string {
	found, name := inputs.New(record.Kind), string(record.Kind)+" "+record.Copy()
	err := w.Live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: record.Copy()}, found)
	absent := record.Content == api.InputAbsent
	switch {
	case apierrors.IsNotFound(err) && absent:
		return ""
	case apierrors.IsNotFound(err):
		return w.createCopy(ctx, set, revision, record, object)
	case err != nil:
		return fmt.Sprintf("%s, a copy of %s, cannot be read: %s", name, record.Ref(), observe.InputAdvice(err))
	case absent:
		return fmt.Sprintf("%s exists, and pods of revision %s would read it, because %s is absent: rename it", name, revision.Name, record.Ref())
	}
	if problem := inputs.Unusable(found, record); problem != "" {
		return fmt.Sprintf("%s cannot be the copy of %s for revision %s: %s; rename it, or change the content of %s", name, record.Ref(), revision.Name, problem, record.Ref())
	}
	return w.own(ctx, revision, found, name)
}

// createCopy creates a copy, if the object still has its content.
func (w Writer) createCopy(ctx context.Context, set *api.StatefulSet, revision *appsv1.ControllerRevision, record inputs.Record, object client.Object) string {
	if object == nil || inputs.ContentOf(object) != record.Content {
		return fmt.Sprintf("%s %s, which pods of revision %s read, does not exist, and %s has another content: restore that content, or roll another revision out",
			record.Kind, record.Copy(), revision.Name, record.Ref())
	}
	copied := inputs.CopyOf(object, record, revision)
	err := w.Client.Create(ctx, copied)
	RecordWrite(writeCopy, err)
	if err != nil {
		return fmt.Sprintf("%s cannot be copied to %s: %s", record.Ref(), copied.GetName(), observe.InputAdvice(err))
	}
	w.Events.Eventf(set, copied, "Normal", "CopiedRevisionInput", "Copy", "copied %s to %s for revision %s", record.Ref(), copied.GetName(), revision.Name)
	return ""
}

// own makes a revision an owner of a copy, unless it is one.
func (w Writer) own(ctx context.Context, revision *appsv1.ControllerRevision, found client.Object, name string) string {
	if slices.ContainsFunc(found.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == revision.UID }) {
		return ""
	}
	next, is := found.DeepCopyObject().(client.Object)
	if !is {
		return name + " cannot be changed"
	}
	next.SetOwnerReferences(append(next.GetOwnerReferences(), inputs.OwnerOf(revision)))
	err := w.Client.Patch(ctx, next, client.MergeFromWithOptions(found, client.MergeFromWithOptimisticLock{}))
	RecordWrite(writeCopy, err)
	if err != nil {
		return fmt.Sprintf("%s cannot be kept for revision %s: %s", name, revision.Name, observe.InputAdvice(err))
	}
	return ""
}
