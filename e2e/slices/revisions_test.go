package slices

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// revisions returns the ControllerRevisions that the set controls, by name.
func (p *play) revisions() map[string]appsv1.ControllerRevision {
	p.t.Helper()
	var list appsv1.ControllerRevisionList
	p.must(api.List(p.ctx, &list, client.InNamespace(p.set.Namespace)))
	found := map[string]appsv1.ControllerRevision{}
	for _, revision := range list.Items {
		if metav1.IsControlledBy(&revision, p.set) {
			found[revision.Name] = revision
		}
	}
	return found
}

// TestRevisions: user edits of ControllerRevisions replace no pod. Their labels remain, a revision that users create
// is adopted, and the revision in use is recreated when they delete it.
func TestRevisions(t *testing.T) {
	t.Parallel()
	t.Run("K-230: labelled, made, deleted", func(t *testing.T) {
		p := begin(t, slice(1))
		before, first := p.uids(), p.read().Status.UpdateRevision
		touched := 0
		awaits := func(what string, condition func(map[string]appsv1.ControllerRevision) bool) {
			t.Helper()
			p.eventually(what, func() bool {
				touched++ // the controller reads revisions when it reconciles the set
				p.must(api.Patch(p.ctx, p.read(), client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":"%d"}}}`, touched))))
				return condition(p.revisions())
			})
		}
		made := p.revisions()[first]
		p.must(api.Patch(p.ctx, made.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"mine":"yes"}}}`))))
		p.must(api.Create(p.ctx, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "web-mine", Labels: p.set.Spec.Template.Labels},
			Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:mine"}]}}}}`)}, Revision: 2,
		}))
		awaits("the second revision is taken over, and the first is the newest", func(all map[string]appsv1.ControllerRevision) bool {
			return len(all) == 2 && all["web-mine"].Revision == 2 && all[first].Revision == 3 && all[first].Labels["mine"] == "yes"
		})
		p.must(api.Delete(p.ctx, &made))
		awaits("the one in use is made again", func(all map[string]appsv1.ControllerRevision) bool {
			return all[first].Revision == 3 && all[first].UID != made.UID
		})
		p.kept(before)
		p.image("web:2")
		p.complete()
		awaits("there are three", func(all map[string]appsv1.ControllerRevision) bool {
			return len(all) == 3 && all[p.read().Status.UpdateRevision].Revision == 4
		})
		before = p.uids()
		p.must(api.DeleteAllOf(p.ctx, &appsv1.ControllerRevision{}, client.InNamespace(p.set.Namespace), client.MatchingLabels{"app": "web"}))
		awaits("only that of the pods is left", func(all map[string]appsv1.ControllerRevision) bool {
			_, found := all[p.read().Status.UpdateRevision]
			return len(all) == 1 && found
		})
		p.kept(before)
	})
}
