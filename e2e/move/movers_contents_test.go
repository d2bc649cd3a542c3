package move

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// secretNamespaceOf is the annotation of a VolumeSnapshotContent that names the namespace of the Secret for the
// deletion of its snapshot.
const secretNamespaceOf = "snapshot.storage.kubernetes.io/deletion-secret-namespace"

// contents: the ConfigMaps that restrict volumes restrict VolumeSnapshotContents as well (K14).
func (j judged) contents() {
	j.must(site.DefineSnapshots(j.t.Context(), j.client))
	j.bind("", "sliceshift-mover-snapshots-cluster", "taker", "free")
	j.bind("shop", "sliceshift-mover", "taker")
	for _, namespace := range []string{"shop", "victim"} {
		j.must(j.client.Create(j.t.Context(), contentOf("of-"+namespace, namespace)))
	}
	j.run("K14 a mover that no ConfigMap names is not bounded", func(j judged) {
		j.allows(j.imports("free", fromHandle(contentOf("new", "victim"))))
	})
	j.bounds("of-taker", map[string]string{"users": "taker"})
	j.foreignContents()
	j.contentDrivers()
	j.contentSecrets()
	j.listedContents()
}

// contentOf returns the content that a move by a snapshot creates for a VolumeSnapshot of a namespace.
func contentOf(name, namespace string) *unstructured.Unstructured {
	return manifest.Content(manifest.Mark{Owner: "m", Fence: "m.1"}, volumes.Ref{Namespace: namespace, Name: name},
		volumes.SnapshotAction{Driver: "disk.example.com", Handle: "snapshot-1"}, corev1.PersistentVolumeFilesystem)
}

// fromHandle changes a content so that the driver takes a new snapshot of a disk.
func fromHandle(content *unstructured.Unstructured) *unstructured.Unstructured {
	content.Object["spec"].(map[string]any)["source"] = map[string]any{"volumeHandle": "disk-of-victim"}
	return content
}

// imports returns a request by which a user creates a content, as a dry run.
func (j judged) imports(user string, content *unstructured.Unstructured) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error { return c.Create(ctx, content.DeepCopy(), client.DryRunAll) }
}

// rewrites returns a request by which a user patches a content, as a dry run.
func (j judged) rewrites(user, name, body string) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error {
		return c.Patch(ctx, contentOf(name, ""), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
}

// removes returns a request by which a user deletes a content, as a dry run.
func (j judged) removes(user, name string) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error { return c.Delete(ctx, contentOf(name, ""), client.DryRunAll) }
}

// writesOf returns writes of a mover to another tenant's contents, or writes that move its data there.
func (j judged) writesOf() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"created for it": j.imports("taker", contentOf("new", "victim")),
		"taken from it":  j.rewrites("taker", "of-victim", `{"spec":{"volumeSnapshotRef":{"namespace":"shop"}}}`),
		"given to it":    j.rewrites("taker", "of-shop", `{"spec":{"volumeSnapshotRef":{"namespace":"victim"}}}`),
		"to be deleted":  j.rewrites("taker", "of-victim", `{"spec":{"deletionPolicy":"Delete"}}`),
		"deleted":        j.removes("taker", "of-victim"),
	}
}

// ownContents tests the writes that each move by a snapshot needs.
func (j judged) ownContents() {
	j.allows(j.imports("taker", contentOf("new", "shop")))
	j.allows(j.rewrites("taker", "of-shop", `{"spec":{"deletionPolicy":"Delete"}}`))
	j.allows(j.removes("taker", "of-shop"))
}

func (j judged) foreignContents() {
	for name, write := range j.writesOf() {
		j.run("K14 a snapshot of a namespace without the right to create claims: "+name, func(j judged) {
			j.refuses(write, "of namespace 'victim', where mover taker may not create claims, and ConfigMap sliceshift-system/of-taker names no namespaces",
				"kubectl create rolebinding sliceshift-mover -n victim --clusterrole=sliceshift-mover --user=taker")
		})
	}
	j.run("K14 a snapshot of no namespace", func(j judged) {
		j.refuses(j.imports("taker", contentOf("new", "")), "names no namespace of a VolumeSnapshot", "kubectl describe volumesnapshotcontent new")
	})
	j.run("K14 a namespace that is not a name", func(j judged) {
		j.refuses(j.imports("taker", contentOf("new", "a'; id #")), `of namespace 'a'\''; id #'`, "-n NAMESPACE --clusterrole")
	})
	j.run("K14 a snapshot of any disk", func(j judged) {
		j.refuses(j.imports("taker", fromHandle(contentOf("new", "shop"))), "names the handle of a disk", "kubectl explain volumesnapshot.spec.source")
	})
	j.run("K14 snapshots of a namespace with the right to create claims", judged.ownContents)
}

func (j judged) contentDrivers() {
	j.run("K14 a snapshot of another driver", func(j judged) {
		j.bounds("of-taker", map[string]string{"users": "taker", "drivers": "other.example.com"})
		told := j.refuses(j.imports("taker", contentOf("new", "shop")), "is of 'disk.example.com', which is not among the drivers")
		j.refuses(j.rewrites("taker", "of-shop", `{"spec":{"deletionPolicy":"Delete"}}`), "is of 'disk.example.com'")
		j.mends(told)
		j.ownContents()
		j.bounds("of-taker", map[string]string{"users": "taker"})
	})
	j.run("K14 a driver that is a command", func(j judged) {
		j.bounds("of-taker", map[string]string{"users": "taker", "drivers": "other.example.com"})
		content := contentOf("new", "shop")
		content.Object["spec"].(map[string]any)["driver"] = "a'; id #"
		j.refuses(j.imports("taker", content), `is of 'a'\''; id #'`, `{"data":{"drivers":"other.example.com\nDRIVER"}}`)
		j.bounds("of-taker", map[string]string{"users": "taker"})
		j.ownContents()
	})
}

func (j judged) contentSecrets() {
	with := func(annotation, namespace string) *unstructured.Unstructured {
		content := contentOf("new", "shop")
		annotations := maps.Clone(content.GetAnnotations())
		annotations[annotation] = namespace
		content.SetAnnotations(annotations)
		return content
	}
	for _, annotation := range []string{secretNamespaceOf, "snapshot.storage.kubernetes.io/later-secret-namespace"} {
		j.run("K14 a Secret of another namespace: "+annotation, func(j judged) {
			told := j.refuses(j.imports("taker", with(annotation, "victim")), "names a Secret of namespace 'victim'", `{"data":{"secretNamespaces":"victim"}}`)
			j.refuses(j.rewrites("taker", "of-shop", fmt.Sprintf(`{"metadata":{"annotations":{%q:"victim"}}}`, annotation)), "names a Secret of namespace 'victim'")
			j.allows(j.imports("taker", with(annotation, "shop")))
			j.mends(told)
			j.allows(j.imports("taker", with(annotation, "victim")))
			j.bounds("of-taker", map[string]string{"users": "taker"})
			j.refuses(j.imports("taker", with(annotation, "victim")), "names a Secret of namespace 'victim'")
		})
	}
}

func (j judged) listedContents() {
	j.bind("victim", "sliceshift-mover", "taker")
	j.bounds("of-taker", map[string]string{"users": "taker", "namespaces": "shop"})
	for name, write := range j.writesOf() {
		j.run("K14 a snapshot of a namespace that is not listed: "+name, func(j judged) {
			j.refuses(write, "is, or would be, of namespace 'victim', which is not among those", `{"data":{"namespaces":"shop\nvictim"}}`)
		})
	}
	j.run("K14 snapshots of a listed namespace", func(j judged) {
		j.ownContents()
		j.mends(j.refuses(j.removes("taker", "of-victim"), "of namespace 'victim'"))
		j.allows(j.removes("taker", "of-victim"))
	})
}

// TestContentsAreTyped: an API server that serves snapshots compiles the policies with their types.
func TestContentsAreTyped(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "contents")
	j.must(site.DefineSnapshots(j.t.Context(), j.client))
	j.says(j.migrate(0, "install", "--guard-volumes", "--fence"), "sliceshift-snapshots created")
	j.typesAgree()
}
