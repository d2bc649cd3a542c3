package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPolicy: volumes that the author of a Migration lets the mover create give access to no file of a node, no
// Secret of another namespace, and no driver that was not allowed (S1).
func TestPolicy(t *testing.T) {
	const driver = "ebs.csi.aws.com"
	secret := &corev1.SecretReference{Namespace: "kube-system", Name: "root"}
	own := &corev1.SecretReference{Namespace: "shop", Name: "mine"}
	csi := func(change func(*corev1.CSIPersistentVolumeSource)) corev1.PersistentVolumeSource {
		source := &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "vol-1"}
		change(source)
		return corev1.PersistentVolumeSource{CSI: source}
	}
	plain := csi(func(*corev1.CSIPersistentVolumeSource) {})
	path := corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
	local := corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt"}}
	flex := corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: "x/y", SecretRef: secret}}
	azure := corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "a", SecretNamespace: new("kube-system")}}
	nfs := corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs", Path: "/"}}
	shared := Use{Namespace: "shop", ClaimTemplate: "data", Shared: true}
	word := Use{Namespace: "shop", ClaimTemplate: "data"}
	for name, tc := range map[string]struct {
		policy Policy
		source corev1.PersistentVolumeSource
		use    Use
		reason string
		says   string
	}{
		"a CSI volume":                  {Policy{}, plain, word, "", ""},
		"over the network":              {Policy{}, nfs, word, "", ""},
		"a path, no word":               {Unrestricted(), path, word, ReasonVolumeIsLocal, "--shared data"},
		"a local volume, no word":       {Unrestricted(), local, word, ReasonVolumeIsLocal, "may be empty"},
		"a path, its user's own rights": {Unrestricted(), path, shared, "", ""},
		"a path, by the manager":        {Policy{}, path, shared, ReasonVolumeNotAllowed, "volumes.allowPaths"},
		"a local volume, the manager":   {Policy{}, local, shared, ReasonVolumeNotAllowed, "files of that node"},
		"a path that is allowed":        {Policy{Paths: true}, path, shared, "", ""},
		"another driver":                {Policy{Drivers: []string{"rbd.csi.ceph.com"}}, plain, word, ReasonVolumeNotAllowed, "volumes.drivers"},
		"an allowed driver":             {Policy{Drivers: []string{"rbd.csi.ceph.com", driver}}, plain, word, "", ""},
		"another source":                {Policy{Drivers: []string{driver}}, nfs, word, ReasonVolumeNotAllowed, "is of nfs"},
		"an allowed source":             {Policy{Drivers: []string{driver, "nfs"}}, nfs, word, "", ""},
		"paths are no driver's":         {Policy{Paths: true, Drivers: []string{driver}}, path, shared, "", ""},
		"a flexVolume":                  {Policy{SecretNamespaces: []string{AnySecret}}, flex, word, ReasonVolumeNotAllowed, "volumes.allowPaths"},
		"a flexVolume that is allowed":  {Unrestricted(), flex, shared, "", ""},
		"K4 a flexVolume, no word":      {Unrestricted(), flex, word, ReasonDiskUnknown, "--shared data"},
		"K4 a source of no known kind":  {Policy{}, corev1.PersistentVolumeSource{}, word, ReasonDiskUnknown, "does not identify it"},
		"a Secret elsewhere":            {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodePublishSecretRef = secret }), word, ReasonVolumeNotAllowed, "Secret of namespace kube-system"},
		"to stage":                      {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodeStageSecretRef = secret }), word, ReasonVolumeNotAllowed, "volumes.secretNamespaces"},
		"to expand":                     {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodeExpandSecretRef = secret }), word, ReasonVolumeNotAllowed, ""},
		"to attach":                     {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.ControllerPublishSecretRef = secret }), word, ReasonVolumeNotAllowed, ""},
		"to grow":                       {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.ControllerExpandSecretRef = secret }), word, ReasonVolumeNotAllowed, ""},
		"a Secret of its own namespace": {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodePublishSecretRef = own }), word, "", ""},
		"an allowed namespace":          {Policy{SecretNamespaces: []string{"kube-system"}}, csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodePublishSecretRef = secret }), word, "", ""},
		"any namespace":                 {Unrestricted(), csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodePublishSecretRef = secret }), word, "", ""},
		"a Secret of a flexVolume":      {Policy{Paths: true}, flex, word, ReasonVolumeNotAllowed, ""},
		"Secrets of two namespaces": {Policy{SecretNamespaces: []string{"b"}}, csi(func(s *corev1.CSIPersistentVolumeSource) {
			s.NodePublishSecretRef, s.NodeStageSecretRef = &corev1.SecretReference{Namespace: "c"}, &corev1.SecretReference{Namespace: "a"}
			s.ControllerExpandSecretRef = &corev1.SecretReference{Namespace: "b"}
		}), word, ReasonVolumeNotAllowed, "Secret of namespace a,"},
		"a namespace that is no Secret's": {Policy{}, csi(func(s *corev1.CSIPersistentVolumeSource) {
			s.VolumeAttributes = map[string]string{"namespace": "kube-system"}
		}), word, "", ""},
		"a Secret of azureFile": {Policy{}, azure, word, ReasonVolumeNotAllowed, "kube-system"},
	} {
		t.Run("S1 "+name, func(t *testing.T) {
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: tc.source}}
			bars := tc.policy.Bars(volume, tc.use)
			if bars.Reason != tc.reason || !strings.Contains(bars.Message+bars.Remedy, tc.says) {
				t.Errorf("it says %+v, want %s with %q", bars, tc.reason, tc.says)
			}
		})
	}
}

// TestK14Snapshots: a snapshot of a driver may be imported if volumes of that driver may be created.
func TestK14Snapshots(t *testing.T) {
	for driver, barred := range map[string]bool{"allowed.example.com": false, "another.example.com": true, "": true} {
		if got := (Policy{Drivers: []string{"allowed.example.com"}}).BarsSnapshot(driver); (got.Reason == ReasonVolumeNotAllowed) != barred {
			t.Errorf("driver %q: %+v", driver, got)
		}
		if got := (Policy{}).BarsSnapshot(driver); got != (Reason{}) {
			t.Errorf("driver %q, and all are allowed: %+v", driver, got)
		}
	}
}

// TestSecretNamespaces: whichever of a source's fields name Secrets, their namespaces are sorted and unique, so
// that a refusal has the same text each time (S1).
func TestSecretNamespaces(t *testing.T) {
	of := func(namespace string) *corev1.SecretReference { return &corev1.SecretReference{Namespace: namespace} }
	volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
		NodePublishSecretRef: of("c"), NodeStageSecretRef: of("a"), NodeExpandSecretRef: of("b"), ControllerExpandSecretRef: of("a"), ControllerPublishSecretRef: of("d"),
	}}}}
	for range 50 {
		if got := strings.Join(secretNamespaces(volume), " "); got != "a b c d" {
			t.Fatalf("got %s", got)
		}
	}
}

// TestK10BesidesTheSource: a volume carries no instruction for a controller or a node of the other cluster.
func TestK10BesidesTheSource(t *testing.T) {
	volume := func(change func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{}}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: csi}}
		change(v)
		return v
	}
	secret := volume(func(v *corev1.PersistentVolume) { v.Annotations[deletionSecretNamespace] = "kube-system" })
	suid := volume(func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{"noatime", "suid"} })
	dev := volume(func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{"dev"} })
	use := Use{Namespace: "shop", ClaimTemplate: "data"}
	for name, tc := range map[string]struct {
		policy Policy
		volume *corev1.PersistentVolume
		reason string
	}{
		"a Secret to delete it with":              {Policy{}, secret, ReasonVolumeNotAllowed},
		"a Secret of a namespace that is allowed": {Policy{SecretNamespaces: []string{"kube-system"}}, secret, ""},
		"suid":                           {Policy{}, suid, ReasonVolumeNotAllowed},
		"dev":                            {Policy{}, dev, ReasonVolumeNotAllowed},
		"suid, with rights of one's own": {Unrestricted(), suid, ""},
		"another option":                 {Policy{}, volume(func(v *corev1.PersistentVolume) { v.Spec.MountOptions = []string{"noatime", "nosuid"} }), ""},
	} {
		if got := tc.policy.Bars(tc.volume, use); got.Reason != tc.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
	made := CopyVolume(volume(func(v *corev1.PersistentVolume) {
		v.Annotations["controller.example.com/run"], v.Annotations["pv.kubernetes.io/provisioned-by"] = "this", "d"
	}), "pv", Ref{}, "me", Form{})
	if _, along := made.Annotations["controller.example.com/run"]; along || made.Annotations["pv.kubernetes.io/provisioned-by"] != "d" {
		t.Errorf("it has %v", made.Annotations)
	}
}

// TestP8OneNode: a volume that a label binds to single nodes is local, whatever its driver calls the label. A
// volume of a zone is not.
func TestP8OneNode(t *testing.T) {
	one := func(key string, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	field := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}}
	not := one("kubernetes.io/hostname", "node-1")
	not.MatchExpressions[0].Operator = corev1.NodeSelectorOpNotIn
	both := one("topology.kubernetes.io/zone", "a")
	both.MatchExpressions = append(both.MatchExpressions, one("openebs.io/nodename", "node-1").MatchExpressions...)
	for name, tc := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		word  bool
		local bool
	}{
		"none":                      {nil, false, false},
		"topolvm":                   {[]corev1.NodeSelectorTerm{one("topology.topolvm.io/node", "node-1")}, false, true},
		"its user's word":           {[]corev1.NodeSelectorTerm{one("topology.topolvm.io/node", "node-1")}, true, false},
		"the host name":             {[]corev1.NodeSelectorTerm{one("kubernetes.io/hostname", "node-1")}, false, true},
		"its replicas":              {[]corev1.NodeSelectorTerm{one("linbit.com/hostname", "node-1"), one("linbit.com/hostname", "node-2")}, false, true},
		"a field":                   {[]corev1.NodeSelectorTerm{field}, false, true},
		"a node of a zone":          {[]corev1.NodeSelectorTerm{both}, false, true},
		"a zone":                    {[]corev1.NodeSelectorTerm{one("topology.kubernetes.io/zone", "a")}, false, false},
		"a zone of a cloud":         {[]corev1.NodeSelectorTerm{one("topology.ebs.csi.aws.com/zone", "a")}, false, false},
		"a node, or any of a zone":  {[]corev1.NodeSelectorTerm{one("kubernetes.io/hostname", "node-1"), one("topology.kubernetes.io/zone", "a")}, false, false},
		"any but one node":          {[]corev1.NodeSelectorTerm{not}, false, false},
		"a word that has it within": {[]corev1.NodeSelectorTerm{one("node.kubernetes.io/instance-type", "m5")}, false, false},
	} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "topolvm.io", VolumeHandle: "a"}
		if tc.terms != nil {
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: tc.terms}}
		}
		bars := Unrestricted().Bars(volume, Use{Namespace: "shop", ClaimTemplate: "data", Shared: tc.word})
		if local := bars.Reason == ReasonVolumeIsLocal; local != tc.local || local && !strings.Contains(bars.Remedy, "--shared data") {
			t.Errorf("%s: %+v", name, bars)
		}
	}
}
