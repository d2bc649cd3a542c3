package slices

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// inputSet returns a set whose pods read ConfigMap app and Secret key in every way, both as revision inputs.
func inputSet(replicas int32) *sliceapi.StatefulSet {
	set := slice(replicas)
	app, key := corev1.LocalObjectReference{Name: "app"}, corev1.LocalObjectReference{Name: "key"}
	container := &set.Spec.Template.Spec.Containers[0]
	container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: app}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: key}}}
	container.Env = []corev1.EnvVar{
		{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: app, Key: "value"}}},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: key, Key: "value"}}},
	}
	set.Spec.Template.Spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: app}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}},
		{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: app}}, {Secret: &corev1.SecretProjection{LocalObjectReference: key}},
		}}}},
	}
	set.Spec.RevisionInputs = []sliceapi.RevisionInput{{Kind: sliceapi.InputConfigMap, Name: "app"}, {Kind: sliceapi.InputSecret, Name: "key"}}
	return set
}

// configure writes a value to ConfigMap app.
func (p *play) configure(value string) {
	p.t.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "app"}, Data: map[string]string{"value": value}}
	if err := api.Create(p.ctx, config.DeepCopy()); err != nil {
		p.must(api.Update(p.ctx, config))
	}
}

// secret writes a value to Secret key.
func (p *play) secret(value string) {
	p.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "key"}, Data: map[string][]byte{"value": []byte(value)}}
	if err := api.Create(p.ctx, secret.DeepCopy()); err != nil {
		p.must(api.Update(p.ctx, secret))
	}
}

// beginInputs creates the inputs and the set, and waits until it is complete.
func beginInputs(t *testing.T, set *sliceapi.StatefulSet) *play {
	t.Helper()
	p := newPlay(t, set)
	p.configure("1")
	p.secret("a")
	p.must(api.Create(p.ctx, set))
	p.complete()
	p.reads("1a 1a 1a")
	return p
}

// values returns the values that the pods read.
func (p *play) values() string {
	var all []string
	for _, pod := range p.pods() {
		all = append(all, p.valuesOf(&pod))
	}
	return strings.Join(all, " ")
}

// valuesOf returns the values that a pod reads, and checks that every reference names the same copies.
func (p *play) valuesOf(pod *corev1.Pod) string {
	p.t.Helper()
	c, v := pod.Spec.Containers[0], map[string]corev1.Volume{}
	for _, volume := range pod.Spec.Volumes {
		v[volume.Name] = volume
	}
	configs := []string{c.EnvFrom[0].ConfigMapRef.Name, c.Env[0].ValueFrom.ConfigMapKeyRef.Name, v["config"].ConfigMap.Name, v["both"].Projected.Sources[0].ConfigMap.Name}
	secrets := []string{c.EnvFrom[1].SecretRef.Name, c.Env[1].ValueFrom.SecretKeyRef.Name, v["secret"].Secret.SecretName, v["both"].Projected.Sources[1].Secret.Name}
	for _, names := range [][]string{configs, secrets} {
		for _, name := range names {
			if name != names[0] || name == "app" || name == "key" {
				p.t.Fatalf("%s reads %v", pod.Name, names)
			}
		}
	}
	config, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	if api.Get(p.ctx, client.ObjectKey{Namespace: pod.Namespace, Name: configs[0]}, config) != nil || api.Get(p.ctx, client.ObjectKey{Namespace: pod.Namespace, Name: secrets[0]}, secret) != nil {
		return "?"
	}
	return config.Data["value"] + string(secret.Data["value"])
}

// reads waits until the pods read these values.
func (p *play) reads(want string) {
	p.t.Helper()
	p.eventually("the pods read "+want, func() bool { return p.values() == want })
}

// copies returns the number of copies.
func (p *play) copies() int {
	var configs corev1.ConfigMapList
	var secrets corev1.SecretList
	of := []client.ListOption{client.InNamespace(p.set.Namespace), client.HasLabels{sliceapi.InputCopyLabelKey}}
	p.must(api.List(p.ctx, &configs, of...))
	p.must(api.List(p.ctx, &secrets, of...))
	return len(configs.Items) + len(secrets.Items)
}

// TestRevisionInputs: a change of a ConfigMap or a Secret is rolled out under the update strategy, and back. The garbage collector
// deletes copies with their last revision.
func TestRevisionInputs(t *testing.T) {
	t.Parallel()
	t.Run("out and back", func(t *testing.T) {
		set := inputSet(3)
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.Partition = new(int32(2)) })
		p := beginInputs(t, set)
		first := p.read().Status.UpdateRevision
		p.step("a ConfigMap, to the partition", func(t *testing.T) {
			p.configure("2")
			p.reads("1a 1a 2a")
			p.must(api.Delete(p.ctx, p.pod(0)))
			p.eventually("web-0 is created again", func() bool { return p.pod(0) != nil && p.pod(0).DeletionTimestamp == nil })
			p.reads("1a 1a 2a")
			if p.read().Status.CurrentRevision != first {
				t.Errorf("the current revision is %s", p.read().Status.CurrentRevision)
			}
		})
		p.step("and to all", func(*testing.T) {
			p.change(func(s *sliceapi.StatefulSetSpec) { s.UpdateStrategy.RollingUpdate.Partition = new(int32(0)) })
			p.complete()
			p.reads("2a 2a 2a")
		})
		p.step("a Secret", func(*testing.T) {
			p.secret("b")
			p.reads("2b 2b 2b")
			p.complete()
		})
		p.step("back to both", func(t *testing.T) {
			p.configure("1")
			p.secret("a")
			p.reads("1a 1a 1a")
			p.complete()
			if got := p.read().Status.UpdateRevision; got != first {
				t.Errorf("revision %s, and it was %s", got, first)
			}
		})
		p.step("the history", func(*testing.T) {
			p.change(func(s *sliceapi.StatefulSetSpec) { s.RevisionHistoryLimit = new(int32(0)) })
			p.eventually("two copies are left", func() bool { return p.copies() == 2 })
			p.reads("1a 1a 1a")
			p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationBackground)))
			p.eventually("the copies go with the set", func() bool { return p.copies() == 0 })
		})
	})
}

// TestRevisionInputsRollback: a content with which no pod becomes Ready is rolled back, although the ConfigMap keeps it.
func TestRevisionInputsRollback(t *testing.T) {
	t.Parallel()
	t.Run("onFailure: Rollback", func(t *testing.T) {
		set := inputSet(3)
		set.Spec.ProgressDeadlineSeconds = new(int32(3))
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.OnFailure = sliceapi.Rollback })
		p := beginInputs(t, set)
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Paused = true })
		p.configure("2")
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.Template.Annotations, s.Paused = map[string]string{cluster.ReadyDelayAnnotationKey: "1h"}, false
		})
		p.condition(sliceapi.ConditionStalled, "pods keep revision")
		p.reads("1a 1a 1a")
		p.configure("3")
		p.change(func(s *sliceapi.StatefulSetSpec) { s.Template.Annotations = nil })
		p.complete()
		p.reads("3a 3a 3a")
	})
}

// TestRevisionInputsMissing: a set waits for its inputs, and keeps its pods when one is deleted. Lost pods are recreated with the
// copy.
func TestRevisionInputsMissing(t *testing.T) {
	t.Parallel()
	t.Run("held, and named", func(t *testing.T) {
		set := inputSet(3)
		p := newPlay(t, set)
		p.secret("a")
		p.must(api.Create(p.ctx, set))
		p.condition(sliceapi.ConditionReconciling, "ConfigMap app does not exist: create it")
		if pods := p.pods(); len(pods) > 0 {
			t.Errorf("%d pods exist", len(pods))
		}
		p.configure("1")
		p.complete()
		p.must(api.Delete(p.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "app"}}))
		p.image("web:2")
		p.condition(sliceapi.ConditionReconciling, "no pod is updated: ConfigMap app does not exist")
		before := p.uids()
		p.must(api.Delete(p.ctx, p.pod(1)))
		p.eventually("web-1 is created again", func() bool {
			pod := p.pod(1)
			return pod != nil && pod.UID != before["web-1"] && pod.Spec.Containers[0].Image == "web:1"
		})
		p.reads("1a 1a 1a")
		p.configure("1")
		p.complete()
		p.imagesAre("web:2", "web:2", "web:2")
		p.reads("1a 1a 1a")
	})
}

// TestRevisionInputsTaken: an object of another client that has the name of a copy is named and not changed.
func TestRevisionInputsTaken(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		p := beginInputs(t, inputSet(3))
		mine := &corev1.ConfigMap{Data: map[string]string{"value": "2"}}
		record := inputs.Record{Kind: sliceapi.InputConfigMap, Name: "app", Content: inputs.ContentOf(mine)}
		mine.ObjectMeta = metav1.ObjectMeta{Namespace: p.set.Namespace, Name: record.Copy()}
		mine.Data["value"] = "mine"
		p.must(api.Create(p.ctx, mine))
		before := p.uids()
		p.configure("2")
		p.condition(sliceapi.ConditionReconciling, "ConfigMap "+mine.Name+" cannot be the copy of ConfigMap app")
		p.kept(before)
		p.must(api.Get(p.ctx, client.ObjectKeyFromObject(mine), mine))
		if mine.Data["value"] != "mine" || len(mine.OwnerReferences) > 0 {
			t.Errorf("it was changed: %+v", mine)
		}
		p.must(api.Delete(p.ctx, mine))
		p.complete()
		p.reads("2a 2a 2a")
	})
}

// TestRevisionInputsInPlace: an image changes in place while the inputs stay the same, and another content needs a new pod.
func TestRevisionInputsInPlace(t *testing.T) {
	t.Parallel()
	t.Run("InPlaceOnly", func(t *testing.T) {
		set := inputSet(3)
		set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: sliceapi.InPlaceUpdateReady}}
		set.Spec.UpdateStrategy = rolling(func(r *sliceapi.RollingUpdateStrategy) { r.PodUpdatePolicy = sliceapi.InPlaceOnly })
		p := beginInputs(t, set)
		before := p.uids()
		p.image("web:2")
		p.imagesAre("web:2", "web:2", "web:2")
		p.kept(before)
		p.configure("2")
		p.held("the content of ConfigMap app cannot be changed in place")
		p.kept(before)
		p.change(func(s *sliceapi.StatefulSetSpec) {
			s.UpdateStrategy.RollingUpdate.PodUpdatePolicy = sliceapi.InPlaceIfPossible
		})
		p.reads("2a 2a 2a")
		p.complete()
	})
}

// TestRevisionInputsOrphans: a set that is deleted without its pods and created again takes its revisions over, with the copies.
func TestRevisionInputsOrphans(t *testing.T) {
	t.Parallel()
	t.Run("taken over", func(t *testing.T) {
		p := beginInputs(t, inputSet(3))
		before, copies := p.uids(), p.copies()
		p.must(api.Delete(p.ctx, p.read(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
		p.eventually("it is deleted", func() bool { return p.read().UID == "" })
		again := inputSet(3)
		again.Namespace = p.set.Namespace
		p.must(api.Create(p.ctx, again))
		p.set = again
		p.complete()
		p.kept(before)
		if got := p.copies(); got != copies {
			t.Errorf("%d copies, and there were %d", got, copies)
		}
		p.configure("2")
		p.reads("2a 2a 2a")
	})
}

// TestRevisionInputsRules: what an API server refuses of the field. The default is no inputs, and revisions as before.
func TestRevisionInputsRules(t *testing.T) {
	namespace := newNamespace(t)
	for name, tc := range map[string]struct{ value, want string }{
		"another kind":           {`[{kind: Pod, name: a}]`, "spec.revisionInputs[0].kind"},
		"no kind":                {`[{name: a}]`, "spec.revisionInputs[0].kind"},
		"no name":                {`[{kind: Secret}]`, "spec.revisionInputs[0].name"},
		"no valid name":          {`[{kind: Secret, name: A_b}]`, "spec.revisionInputs[0].name"},
		"twice":                  {`[{kind: Secret, name: a}, {kind: Secret, name: a}]`, "Duplicate value"},
		"rolled back to itself":  {`[{kind: Secret, name: a, rolledBack: {from: absent, to: absent}}]`, "rolledBack.to must differ"},
		"no hash":                {`[{kind: Secret, name: a, rolledBack: {from: absent, to: "0123"}}]`, "spec.revisionInputs[0].rolledBack.to"},
		"a rollback to nowhere":  {`[{kind: Secret, name: a, rolledBack: {from: absent}}]`, "spec.revisionInputs[0].rolledBack.to"},
		"a hash in large digits": {`[{kind: Secret, name: a, rolledBack: {from: "0123456789ABCDEF", to: absent}}]`, "spec.revisionInputs[0].rolledBack.from"},
	} {
		t.Run(""+name, func(t *testing.T) {
			err := api.Create(bounded(t), manifest(t, ours, namespace, put("spec.revisionInputs", tc.value)), client.DryRunAll)
			wantRefused(t, err, tc.want)
		})
	}
	t.Run("accepted", func(t *testing.T) {
		value := `[{kind: Secret, name: a.b-c}, {kind: ConfigMap, name: a.b-c, rolledBack: {from: "0123456789abcdef", to: absent}}]`
		if err := api.Create(bounded(t), manifest(t, ours, namespace, put("spec.revisionInputs", value)), client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Error(err)
		}
	})
}

// TestRevisionInputsAsNative: without the field, the revision has the data of the native controller's.
func TestRevisionInputsAsNative(t *testing.T) {
	t.Parallel()
	t.Run("no inputs", func(t *testing.T) {
		set := inputSet(1)
		set.Spec.RevisionInputs = nil
		p := newPlay(t, set)
		p.configure("1")
		p.secret("a")
		native := p.native()
		native.Name = "web"
		p.must(api.Create(p.ctx, native))
		p.eventually("the native revision exists", func() bool {
			p.must(api.Get(p.ctx, client.ObjectKeyFromObject(native), native))
			return native.Status.UpdateRevision != ""
		})
		var theirs, mine appsv1.ControllerRevision
		p.must(api.Get(p.ctx, client.ObjectKey{Namespace: set.Namespace, Name: native.Status.UpdateRevision}, &theirs))
		p.must(api.Delete(p.ctx, native, client.PropagationPolicy(metav1.DeletePropagationForeground)))
		p.eventually("it is deleted", func() bool { return len(p.pods()) == 0 })
		p.must(api.Create(p.ctx, set))
		p.complete()
		p.must(api.Get(p.ctx, client.ObjectKey{Namespace: set.Namespace, Name: p.read().Status.UpdateRevision}, &mine))
		if string(mine.Data.Raw) != string(theirs.Data.Raw) || meta.IsStatusConditionTrue(p.read().Status.Conditions, sliceapi.ConditionHeld) {
			t.Errorf("%s\n%s\nand natively %s\n%s", mine.Name, mine.Data.Raw, theirs.Name, theirs.Data.Raw)
		}
		if p.pod(0).Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name != "app" || p.copies() != 0 {
			t.Errorf("it reads a copy: %+v", p.pod(0).Spec)
		}
	})
}
