package move

import (
	"context"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// moverPolicy is the label of the ConfigMaps that restrict movers.
const moverPolicy = "migration.sliceshift.io/mover-policy"

// TestMovers: a user named in such a ConfigMap can write only the volumes that it allows.
func TestMovers(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "movers", "--guard-volumes")
	for _, name := range []string{"shop", "shop-new", "victim"} {
		j.namespace(name)
	}
	j.bind("", "sliceshift-mover-cluster", "mover", "unnamed", "grouped")
	j.bind("shop", "sliceshift-mover", "mover", "grouped")
	j.bind("shop-new", "sliceshift-mover", "mover")
	j.nobodyIsNamed()
	j.bounds("of-mover", map[string]string{"users": "nobody\n mover \n"})
	j.sources()
	j.secretsOfVolumes()
	j.namespacesByRights()
	j.namespacesByList()
	j.others()
	j.contents()
}

// bounds creates a ConfigMap or replaces its data.
func (j judged) bounds(name string, data map[string]string) {
	j.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "sliceshift-system", Name: name, Labels: map[string]string{moverPolicy: "true"}}, Data: data}
	err := j.client.Create(j.t.Context(), m)
	if apierrors.IsAlreadyExists(err) {
		err = j.client.Update(j.t.Context(), m)
	}
	j.must(err)
}

// volumeOf returns a CSI volume for a claim in a namespace, or without a claim if namespace is empty.
func volumeOf(name, namespace string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}},
		},
	}
	if namespace != "" {
		volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: namespace, Name: "data-web-0"}
	}
	return volume
}

// from returns a volume for namespace shop with another source.
func from(source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	volume := volumeOf("new", "shop")
	volume.Spec.PersistentVolumeSource = source
	return volume
}

// makes returns a request by which a user creates a volume, as a dry run.
func (j judged) makes(user string, volume *corev1.PersistentVolume) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error { return c.Create(ctx, volume.DeepCopy(), client.DryRunAll) }
}

// nobodyIsNamed: without a ConfigMap the policy restricts no user.
func (j judged) nobodyIsNamed() {
	j.run("S1 without a ConfigMap nobody is bounded", func(j judged) {
		j.allows(j.makes("mover", from(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}})))
	})
}

// ofNodes returns volumes that are stored on nodes.
func ofNodes() map[string]*corev1.PersistentVolume {
	local := from(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/"}})
	local.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}},
	}}}}
	return map[string]*corev1.PersistentVolume{
		"hostPath":   from(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
		"local":      local,
		"flexVolume": from(corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "example.com/program"}}),
	}
}

// sources tests the sources of volumes.
func (j judged) sources() {
	for name, volume := range ofNodes() {
		j.run("S1 a volume of a node: "+name, func(j judged) {
			j.refuses(j.makes("mover", volume), "PersistentVolume new is of type "+name, "ConfigMap sliceshift-system/of-mover does not allow that to mover", `'{"data":{"allowHostPath":"true"}}'`)
		})
	}
	j.run("S1 a volume of a node that is there", func(j judged) {
		volume := ofNodes()["hostPath"]
		volume.Name = "there"
		j.must(j.client.Create(j.t.Context(), volume))
		j.refuses(j.points("mover", "there", "shop-new", "data-web-0"), "there is of type hostPath")
	})
	j.run("S1 volumes of nodes, allowed", func(j judged) {
		told := j.refuses(j.makes("mover", ofNodes()["local"]), "is of type local")
		j.mends(told)
		for _, volume := range ofNodes() {
			j.allows(j.makes("mover", volume))
		}
		j.bounds("of-mover", map[string]string{"users": "mover", "allowHostPath": "false"})
		j.refuses(j.makes("mover", ofNodes()["local"]), "is of type local")
	})
	nfs := from(corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "a", Path: "/"}})
	j.run("S1 any driver, when none is named", func(j judged) {
		j.allows(j.makes("mover", volumeOf("new", "shop")))
		j.allows(j.makes("mover", nfs))
	})
	j.run("S1 another driver", func(j judged) {
		j.bounds("of-mover", map[string]string{"users": "mover", "drivers": "other.example.com\nanother.example.com"})
		for source, volume := range map[string]*corev1.PersistentVolume{"disk.example.com": volumeOf("new", "shop"), "nfs": nfs} {
			told := j.refuses(j.makes("mover", volume), "is of "+source+", which is not among the drivers", `{"data":{"drivers":"other.example.com\nanother.example.com\n`+source+`"}}`)
			j.mends(told)
			j.allows(j.makes("mover", volume))
			j.bounds("of-mover", map[string]string{"users": "mover", "drivers": "other.example.com\nanother.example.com"})
		}
		j.bounds("of-mover", map[string]string{"users": "mover"})
		j.allows(j.makes("mover", nfs))
	})
}

// withSecrets returns volumes that name a Secret, one for each possible field.
func withSecrets(namespace string) map[string]*corev1.PersistentVolume {
	ref := &corev1.SecretReference{Namespace: namespace, Name: "credentials"}
	volumes := map[string]*corev1.PersistentVolume{
		"cephfs":    from(corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{Monitors: []string{"a"}, SecretRef: ref}}),
		"rbd":       from(corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{CephMonitors: []string{"a"}, RBDImage: "b", SecretRef: ref}}),
		"iscsi":     from(corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{TargetPortal: "a", IQN: "iqn.2020-01.com.example:a", SecretRef: ref}}),
		"cinder":    from(corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "a", SecretRef: ref}}),
		"azureFile": from(corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "a", ShareName: "b", SecretNamespace: &namespace}}),
	}
	for name, set := range map[string]func(*corev1.CSIPersistentVolumeSource){
		"controllerPublishSecretRef": func(c *corev1.CSIPersistentVolumeSource) { c.ControllerPublishSecretRef = ref },
		"nodeStageSecretRef":         func(c *corev1.CSIPersistentVolumeSource) { c.NodeStageSecretRef = ref },
		"nodePublishSecretRef":       func(c *corev1.CSIPersistentVolumeSource) { c.NodePublishSecretRef = ref },
		"controllerExpandSecretRef":  func(c *corev1.CSIPersistentVolumeSource) { c.ControllerExpandSecretRef = ref },
		"nodeExpandSecretRef":        func(c *corev1.CSIPersistentVolumeSource) { c.NodeExpandSecretRef = ref },
	} {
		volumes[name] = volumeOf("new", "shop")
		set(volumes[name].Spec.CSI)
	}
	return volumes
}

func (j judged) secretsOfVolumes() {
	for name, volume := range withSecrets("victim") {
		j.run("S1 a Secret of another namespace: "+name, func(j judged) {
			j.refuses(j.makes("mover", volume), "PersistentVolume new names a Secret of namespace 'victim'", "of-mover")
		})
	}
	j.run("S1 a Secret of the claim's namespace, and of the driver's", func(j judged) {
		for _, volume := range withSecrets("shop") {
			j.allows(j.makes("mover", volume))
		}
		told := j.refuses(j.makes("mover", withSecrets("victim")["nodeStageSecretRef"]), `{"data":{"secretNamespaces":"victim"}}`)
		j.mends(told)
		for _, volume := range withSecrets("victim") {
			j.allows(j.makes("mover", volume))
		}
		j.bounds("of-mover", map[string]string{"users": "mover"})
		j.refuses(j.makes("mover", withSecrets("victim")["rbd"]), "names a Secret of namespace")
	})
}

// points returns a request by which a user binds a volume to a claim, as a dry run.
func (j judged) points(user, volume, namespace, claim string) func(context.Context) error {
	c := j.as(user)
	body := fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":%q}}}`, namespace, claim)
	return func(ctx context.Context) error {
		return c.Patch(ctx, volumeOf(volume, ""), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
}

// deletes returns a request by which a user deletes a volume, as a dry run.
func (j judged) deletes(user, volume string) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error { return c.Delete(ctx, volumeOf(volume, ""), client.DryRunAll) }
}

// foreignVolumes returns writes of a mover to volumes of others, by description.
func (j judged) foreignVolumes() map[string]func(context.Context) error {
	parked := volumeOf("new", "victim")
	parked.Spec.ClaimRef.Name += "_parked"
	return map[string]func(context.Context) error{
		"created for it":                j.makes("mover", volumeOf("new", "victim")),
		"created, and parked":           j.makes("mover", parked),
		"taken from it":                 j.points("mover", "of-victim", "shop", "data-web-0"),
		"taken from it when parked":     j.points("mover", "parked-of-victim", "shop", "data-web-0"),
		"given to it":                   j.points("mover", "of-shop", "victim", "data-web-0"),
		"parked there":                  j.points("mover", "of-shop", "victim", "data-web-0_parked"),
		"another claim of it":           j.points("mover", "of-victim", "victim", "data-web-1"),
		"deleted":                       j.deletes("mover", "of-victim"),
		"deleted when parked":           j.deletes("mover", "parked-of-victim"),
		"made Retain, as a first write": j.retains("mover", "of-victim"),
	}
}

// retains returns a request by which a user changes only the reclaim policy.
func (j judged) retains(user, volume string) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error {
		body := []byte(`{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}`)
		return c.Patch(ctx, volumeOf(volume, ""), client.RawPatch(types.MergePatchType, body), client.DryRunAll)
	}
}

func (j judged) namespacesByRights() {
	parked := volumeOf("parked-of-victim", "victim")
	parked.Spec.ClaimRef.Name += "_parked"
	for _, volume := range []*corev1.PersistentVolume{volumeOf("of-shop", "shop"), volumeOf("of-victim", "victim"), volumeOf("of-nobody", ""), parked} {
		j.must(j.client.Create(j.t.Context(), volume))
	}
	for name, write := range j.foreignVolumes() {
		j.run("S1 a volume of a namespace without the right to make claims: "+name, func(j judged) {
			j.refuses(write, "one of namespace 'victim'", "may not create claims, and ConfigMap sliceshift-system/of-mover names no namespaces", "kubectl create rolebinding sliceshift-mover -n victim --clusterrole=sliceshift-mover --user=mover")
		})
	}
	for name, write := range map[string]func(context.Context) error{
		"created": j.makes("mover", volumeOf("new", "")), "taken": j.points("mover", "of-nobody", "shop", "a"), "deleted": j.deletes("mover", "of-nobody"),
	} {
		j.run("S1 a volume of nobody: "+name, func(j judged) { j.refuses(write, "names no claim", "kubectl patch persistentvolume") })
	}
	j.run("S1 volumes of namespaces with the right to make claims", judged.ownVolumes)
	j.run("S1 a namespace that is not a name", func(j judged) {
		j.refuses(j.makes("mover", volumeOf("new", "a'; id #")), `of namespace 'a'\''; id #'`, "-n NAMESPACE --clusterrole")
	})
}

// ownVolumes tests the volumes that a mover may write.
func (j judged) ownVolumes() {
	parked := volumeOf("new", "shop-new")
	parked.Spec.ClaimRef.Name += "_parked"
	for _, write := range []func(context.Context) error{
		j.makes("mover", volumeOf("new", "shop")), j.makes("mover", parked), j.points("mover", "of-shop", "shop", "data-web-0_parked"),
		j.points("mover", "of-shop", "shop-new", "data-web-0"), j.deletes("mover", "of-shop"),
	} {
		j.allows(write)
	}
}

func (j judged) namespacesByList() {
	j.bind("victim", "sliceshift-mover", "mover")
	listed := map[string]string{"users": "mover", "namespaces": "shop\nshop-new"}
	j.bounds("of-mover", listed)
	for name, write := range j.foreignVolumes() {
		j.run("S1 a volume of a namespace that is not listed: "+name, func(j judged) {
			j.refuses(write, "one of namespace 'victim', which is not among those", `{"data":{"namespaces":"shop\nshop-new\nvictim"}}`)
		})
	}
	j.run("S1 a volume of nobody, with a list", func(j judged) {
		j.refuses(j.points("mover", "of-nobody", "shop", "a"), "names no claim")
	})
	j.run("S1 volumes of listed namespaces", func(j judged) {
		j.ownVolumes()
		told := j.refuses(j.deletes("mover", "of-victim"), "of namespace 'victim'")
		j.mends(told)
		j.allows(j.deletes("mover", "of-victim"))
		j.bounds("of-mover", listed)
		j.refuses(j.deletes("mover", "of-victim"), "of namespace 'victim'")
	})
}

// others tests which users are restricted, and by which ConfigMaps.
func (j judged) others() {
	j.run("S1 who is not named is not bounded", func(j judged) {
		j.allows(j.makes("unnamed", ofNodes()["hostPath"]))
		j.allows(j.points("unnamed", "of-victim", "shop", "a"))
	})
	j.run("S1 a group", func(j judged) {
		c := j.as("grouped", "movers")
		j.bounds("of-group", map[string]string{"groups": "nobody\nmovers"})
		write := func(ctx context.Context) error { return c.Create(ctx, ofNodes()["hostPath"], client.DryRunAll) }
		j.refuses(write, "ConfigMap sliceshift-system/of-group")
		j.allows(j.makes("grouped", ofNodes()["hostPath"]))
	})
	j.run("S1 each of several ConfigMaps bounds", func(j judged) {
		more := map[string]string{"users": "mover", "drivers": "other.example.com"}
		j.bounds("more", more)
		j.refuses(j.makes("mover", volumeOf("new", "shop")), "sliceshift-system/more")
		j.refuses(j.makes("mover", volumeOf("new", "victim")), "victim")
		less := maps.Clone(more)
		less["users"] = ""
		j.bounds("more", less)
		j.allows(j.makes("mover", volumeOf("new", "shop")))
	})
	j.run("S1 a ConfigMap without the label, or elsewhere, bounds nobody", func(j judged) {
		for _, meta := range []metav1.ObjectMeta{{Namespace: "sliceshift-system", Name: "bare"}, {Namespace: "shop", Name: "bare", Labels: map[string]string{moverPolicy: "true"}}} {
			j.must(j.client.Create(j.t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"users": "unnamed"}}))
		}
		j.bounds("seen", map[string]string{"users": "witness"})
		j.bind("", "sliceshift-mover-cluster", "witness")
		j.refuses(j.makes("witness", ofNodes()["hostPath"]), "sliceshift-system/seen") // the other ConfigMaps are then known as well
		j.must(j.makes("unnamed", ofNodes()["hostPath"])(j.t.Context()))
	})
}
