package observe

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// InputsSeen are the inputs of a set's template.
type InputsSeen struct {
	// Records are the inputs of the revision.
	Records []inputs.Record
	// Objects are the existing objects.
	Objects map[inputs.Ref]client.Object
	// Problem is why the records are unknown, or empty.
	Problem string
}

// InputProblems are the reasons why pods cannot get the inputs of revisions.
type InputProblems struct {
	// Template is why the inputs of the template are unknown, or empty.
	Template string
	// Revisions are the problems with the copies of revisions, by name.
	Revisions map[string]string
}

// blocks returns why no pod may be updated to the target, or an empty string. A roll-out that has failed is rolled back even if
// the inputs of the template are unknown, because the target is the former revision.
func (p InputProblems) blocks(target string, failed bool) string {
	if failed {
		return p.Revisions[target]
	}
	return cmp.Or(p.Template, p.Revisions[target])
}

// ReadInputs reads the listed objects that the template of a set names, from the API server. A set that is being deleted needs
// none.
func ReadInputs(ctx context.Context, live client.Reader, set *api.StatefulSet) InputsSeen {
	seen := InputsSeen{Objects: map[inputs.Ref]client.Object{}}
	if set.DeletionTimestamp != nil {
		return seen
	}
	named, contents := inputs.NamedBy(&set.Spec.Template, set.Spec.RevisionInputs), map[inputs.Ref]string{}
	for _, each := range named {
		object := inputs.New(each.Kind)
		err := live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: each.Name}, object)
		switch refused := inputs.Refused(object); {
		case apierrors.IsNotFound(err):
			contents[each.Ref] = api.InputAbsent
		case err != nil:
			seen.Problem = cmp.Or(seen.Problem, fmt.Sprintf("%s cannot be read: %s", each.Ref, InputAdvice(err)))
		case refused != "":
			seen.Problem = cmp.Or(seen.Problem, fmt.Sprintf("%s %s", each.Ref, refused))
		default:
			contents[each.Ref], seen.Objects[each.Ref] = inputs.ContentOf(object), object
		}
	}
	if seen.Problem != "" {
		return seen
	}
	records, missing := inputs.Resolve(named, contents)
	if len(missing) > 0 {
		seen.Problem = fmt.Sprintf("%s does not exist: create it, or set optional where spec.template names it", missing[0])
		return seen
	}
	seen.Records = records
	return seen
}

// InputAdvice returns the text of an API server's error for an input or a copy, with the remedy.
func InputAdvice(err error) string {
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("%v: bind the ClusterRole sliceshift-revision-inputs to the manager's ServiceAccount in this namespace", err)
	}
	return err.Error()
}
