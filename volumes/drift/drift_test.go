package drift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// known are the classes of the tests: slow is the default, fast allows expansion, and gold and tape are attributes of two
// drivers.
var known = Classes{
	Storage: []storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks", AllowVolumeExpansion: new(true)},
		{ObjectMeta: metav1.ObjectMeta{Name: "slow", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: "disks"},
	},
	Attributes: []storagev1.VolumeAttributesClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disks"},
		{ObjectMeta: metav1.ObjectMeta{Name: "tape"}, DriverName: "tapes"},
	},
}

type change func(*corev1.PersistentVolumeClaim)

func of(class string) change {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &class }
}

func classless(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }

func sized(size string) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
}

func attributes(class string) change {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = &class }
}

func accessible(modes ...corev1.PersistentVolumeAccessMode) change {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = modes }
}

func block(c *corev1.PersistentVolumeClaim) {
	c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
}

func unbound(c *corev1.PersistentVolumeClaim) {
	c.Spec.VolumeName, c.Status = "", corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
}

func lost(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }

// has sets the capacity of the claim's volume, and the state of its growth.
func has(size string, state corev1.ClaimResourceStatus) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		if state != "" {
			c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: state}
		}
	}
}

// modified sets the class of attributes that the volume has.
func modified(class string) change {
	return func(c *corev1.PersistentVolumeClaim) { c.Status.CurrentVolumeAttributesClassName = &class }
}

func modifying(status corev1.PersistentVolumeClaimModifyVolumeStatus) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{Status: status}
	}
}

func template(changes ...change) *corev1.PersistentVolumeClaim {
	t := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
	for _, each := range append([]change{of("fast"), sized("1Gi"), accessible(corev1.ReadWriteOnce)}, changes...) {
		each(t)
	}
	return t
}

func claim(changes ...change) *corev1.PersistentVolumeClaim {
	c := template()
	c.Name, c.Spec.VolumeName = "data-web-0", "pv-0"
	c.Status.Phase = corev1.ClaimBound
	has("1Gi", "")(c)
	for _, each := range changes {
		each(c)
	}
	return c
}

func volume(class, driver string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-0"}}
	v.Spec.StorageClassName = class
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "h"}
	return v
}

// row is a comparison with one expected difference, given as field, claim, template and need, or with one note.
type row struct {
	template, claim  *corev1.PersistentVolumeClaim
	volume           *corev1.PersistentVolume
	classes          *Classes
	want             *Difference
	unknown, ignored Field
}

func is(field Field, claim, template string, needs Need) *Difference {
	return &Difference{Field: field, Claim: claim, Template: template, Needs: needs}
}

func (r row) check(t *testing.T) {
	t.Helper()
	classes := known
	if r.classes != nil {
		classes = *r.classes
	}
	got := Compare(Pair{Template: r.template, Claim: r.claim, Volume: r.volume}, classes)
	want := Result{}
	if r.want != nil {
		want.Differences = []Difference{*r.want}
	}
	if r.unknown != "" {
		want.Unknown = []Note{{Field: r.unknown}}
	}
	if r.ignored != "" {
		want.Ignored = []Note{{Field: r.ignored}}
	}
	if diff := cmp.Diff(want, withoutReasons(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if behind := r.want != nil && r.want.Needs != Nothing; got.Behind() != behind {
		t.Errorf("behind: %t, want %t", got.Behind(), behind)
	}
}

// withoutReasons removes the reasons, which must not be empty.
func withoutReasons(t *testing.T, r Result) Result {
	t.Helper()
	for i := range r.Differences {
		if r.Differences[i].Reason == "" {
			t.Errorf("%+v has no reason", r.Differences[i])
		}
		r.Differences[i].Reason = ""
	}
	for _, notes := range [][]Note{r.Unknown, r.Ignored} {
		for i := range notes {
			if notes[i].Reason == "" {
				t.Errorf("%+v has no reason", notes[i])
			}
			notes[i].Reason = ""
		}
	}
	return r
}

// TestStorageClass: classes are compared by their meaning. The volume's class counts more than the claim's, and a template
// without a class means the default class.
func TestStorageClass(t *testing.T) {
	none, unread := Classes{Storage: []storagev1.StorageClass{}}, Classes{}
	for name, tc := range map[string]row{
		"equal":                             {template: template(), claim: claim()},
		"another class":                     {template: template(), claim: claim(of("slow")), want: is(StorageClass, "slow", "fast", Copy)},
		"none by intent":                    {template: template(of("")), claim: claim(), want: is(StorageClass, "fast", "", Copy)},
		"the volume is of another class":    {template: template(), claim: claim(), volume: volume("slow", "disks"), want: is(StorageClass, "slow", "fast", Copy)},
		"the volume is of the class":        {template: template(), claim: claim(of("slow")), volume: volume("fast", "disks")},
		"no volume yet":                     {template: template(), claim: claim(of("slow"), unbound), want: is(StorageClass, "slow", "fast", Recreate)},
		"its volume is lost":                {template: template(), claim: claim(of("slow"), lost), want: is(StorageClass, "slow", "fast", Undecided)},
		"default":                           {template: template(classless), claim: claim(of("slow"))},
		"another default now":               {template: template(classless), claim: claim(), want: is(StorageClass, "fast", "slow", Copy)},
		"the default is not known":          {template: template(classless), claim: claim(), classes: &unread, unknown: StorageClass},
		"there is no default":               {template: template(classless), claim: claim(), classes: &none, unknown: StorageClass},
		"there is no default, and no class": {template: template(classless), claim: claim(classless), classes: &none},
		"a default since":                   {template: template(classless), claim: claim(classless), want: is(StorageClass, "", "slow", Copy)},
		"no class and no volume yet":        {template: template(), claim: claim(classless, unbound), unknown: StorageClass},
		"of no class, and bound":            {template: template(), claim: claim(classless), want: is(StorageClass, "", "fast", Copy)},
		"a named class that is not known":   {template: template(of("new")), claim: claim(of("new")), classes: &unread},
		"a default class named by its name": {template: template(of("slow")), claim: claim(of("slow")), classes: &none},
		"the annotation of the claim decides": {template: template(), claim: claim(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "slow"}
		}), want: is(StorageClass, "slow", "fast", Copy)},
	} {
		t.Run(name, tc.check)
	}
}

// TestSize: requests are compared as quantities. Only the class of the claim allows expansion, and nothing shrinks in place.
func TestSize(t *testing.T) {
	none, unread := Classes{Storage: []storagev1.StorageClass{}}, Classes{}
	slow := func(changes ...change) *corev1.PersistentVolumeClaim {
		return claim(append([]change{of("slow")}, changes...)...)
	}
	for name, tc := range map[string]row{
		"in other units":                  {template: template(sized("1Gi")), claim: claim(sized("1024Mi"))},
		"storage has rounded up":          {template: template(), claim: claim(has("8Gi", ""))},
		"larger":                          {template: template(sized("2Gi")), claim: claim(), want: is(Size, "1Gi", "2Gi", Expand)},
		"larger than the rounded size":    {template: template(sized("9Gi")), claim: claim(has("8Gi", "")), want: is(Size, "1Gi", "9Gi", Expand)},
		"smaller":                         {template: template(sized("512Mi")), claim: claim(), want: is(Size, "1Gi", "512Mi", Copy)},
		"the class allows no expansion":   {template: template(of("slow"), sized("2Gi")), claim: slow(), want: is(Size, "1Gi", "2Gi", Copy)},
		"the class does not exist":        {template: template(sized("2Gi")), claim: claim(), classes: &none, want: is(Size, "1Gi", "2Gi", Copy)},
		"the class cannot be read":        {template: template(sized("2Gi")), claim: claim(), classes: &unread, want: is(Size, "1Gi", "2Gi", Undecided)},
		"a claim of no class":             {template: template(of(""), sized("2Gi")), claim: claim(of("")), want: is(Size, "1Gi", "2Gi", Copy)},
		"without a volume":                {template: template(sized("2Gi")), claim: claim(unbound), want: is(Size, "1Gi", "2Gi", Recreate)},
		"without a volume, smaller":       {template: template(sized("512Mi")), claim: claim(unbound), want: is(Size, "1Gi", "512Mi", Recreate)},
		"it grows":                        {template: template(sized("2Gi")), claim: claim(sized("2Gi")), want: is(Size, "1Gi", "2Gi", Nothing)},
		"it grows on the node":            {template: template(sized("2Gi")), claim: claim(sized("2Gi"), has("1Gi", corev1.PersistentVolumeClaimNodeResizePending)), want: is(Size, "1Gi", "2Gi", Nothing)},
		"its driver cannot grow it":       {template: template(sized("2Gi")), claim: claim(sized("2Gi"), has("1Gi", corev1.PersistentVolumeClaimControllerResizeInfeasible)), want: is(Size, "1Gi", "2Gi", Copy)},
		"a failed growth is lowered":      {template: template(sized("2Gi")), claim: claim(sized("8Gi"), has("1Gi", corev1.PersistentVolumeClaimControllerResizeInfeasible)), want: is(Size, "8Gi", "2Gi", Expand)},
		"lowered to what it has":          {template: template(), claim: claim(sized("8Gi"), has("1Gi", "")), want: is(Size, "8Gi", "1Gi", Copy)},
		"its node cannot grow it":         {template: template(sized("2Gi")), claim: claim(sized("2Gi"), has("1Gi", corev1.PersistentVolumeClaimNodeResizeInfeasible)), want: is(Size, "1Gi", "2Gi", Copy)},
		"pending, with the size":          {template: template(), claim: claim(unbound)},
		"a template without a size":       {template: template(func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = nil }), claim: claim()},
		"fractions are numbers":           {template: template(sized("0.5Gi")), claim: claim(sized("512Mi"), has("512Mi", ""))},
		"decimal and binary are not same": {template: template(sized("1G")), claim: claim(), want: is(Size, "1Gi", "1G", Copy)},
	} {
		t.Run(name, tc.check)
	}
}

// TestAttributesClass: a class of the volume's driver is a modification in place, and one of another driver a copy.
func TestAttributesClass(t *testing.T) {
	unread := Classes{Storage: known.Storage}
	for name, tc := range map[string]row{
		"none and none":               {template: template(), claim: claim(attributes(""))},
		"equal":                       {template: template(attributes("gold")), claim: claim(attributes("gold"), modified("gold"))},
		"not seen by the driver yet":  {template: template(attributes("gold")), claim: claim(attributes("gold")), want: is(AttributesClass, "", "gold", Nothing)},
		"asked for":                   {template: template(attributes("gold")), claim: claim(), want: is(AttributesClass, "", "gold", Modify)},
		"by the driver of its volume": {template: template(attributes("tape")), claim: claim(), volume: volume("fast", "tapes"), want: is(AttributesClass, "", "tape", Modify)},
		"of another driver":           {template: template(attributes("tape")), claim: claim(), want: is(AttributesClass, "", "tape", Copy)},
		"that does not exist":         {template: template(attributes("new")), claim: claim(), want: is(AttributesClass, "", "new", Undecided)},
		"that cannot be read":         {template: template(attributes("gold")), claim: claim(), classes: &unread, want: is(AttributesClass, "", "gold", Undecided)},
		"of an unknown driver":        {template: template(of(""), attributes("gold")), claim: claim(of("")), want: is(AttributesClass, "", "gold", Undecided)},
		"not asked for any more":      {template: template(), claim: claim(attributes("gold")), want: is(AttributesClass, "gold", "", Nothing)},
		"without a volume":            {template: template(attributes("gold")), claim: claim(unbound), want: is(AttributesClass, "", "gold", Recreate)},
		"being modified":              {template: template(attributes("gold")), claim: claim(attributes("gold"), modifying(corev1.PersistentVolumeClaimModifyVolumeInProgress)), want: is(AttributesClass, "", "gold", Nothing)},
		"cannot be modified":          {template: template(attributes("gold")), claim: claim(attributes("gold"), modifying(corev1.PersistentVolumeClaimModifyVolumeInfeasible)), want: is(AttributesClass, "", "gold", Copy)},
		"the claim names its driver":  {template: template(of(""), attributes("tape")), claim: claim(of(""), func(c *corev1.PersistentVolumeClaim) { c.Annotations = map[string]string{provisioners[1]: "tapes"} }), want: is(AttributesClass, "", "tape", Modify)},
	} {
		t.Run(name, tc.check)
	}
}

// TestOtherFields: access modes are a set, no volume mode means files, and fields that only choose or fill a new volume do
// not count.
func TestOtherFields(t *testing.T) {
	selects := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "a"}}
	}
	from := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"}
	}
	defaulted := func(c *corev1.PersistentVolumeClaim) {
		from(c)
		c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "seed"}
	}
	files := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem) }
	for name, tc := range map[string]row{
		"modes in another order": {template: template(accessible(corev1.ReadWriteOnce, corev1.ReadOnlyMany)), claim: claim(accessible(corev1.ReadOnlyMany, corev1.ReadWriteOnce))},
		"a mode twice":           {template: template(accessible(corev1.ReadWriteOnce, corev1.ReadWriteOnce)), claim: claim()},
		"another mode":           {template: template(accessible(corev1.ReadWriteOncePod)), claim: claim(), want: is(AccessModes, "ReadWriteOnce", "ReadWriteOncePod", Copy)},
		"a mode fewer":           {template: template(), claim: claim(accessible(corev1.ReadWriteOnce, corev1.ReadOnlyMany)), want: is(AccessModes, "ReadOnlyMany,ReadWriteOnce", "ReadWriteOnce", Copy)},
		"files, by default":      {template: template(), claim: claim(files)},
		"blocks":                 {template: template(block), claim: claim(), want: is(VolumeMode, "Filesystem", "Block", Refill)},
		"no blocks":              {template: template(), claim: claim(block), want: is(VolumeMode, "Block", "Filesystem", Refill)},
		"a selector":             {template: template(selects), claim: claim(), ignored: Selector},
		"the same selector":      {template: template(selects), claim: claim(selects)},
		"a data source":          {template: template(from), claim: claim(), ignored: DataSource},
		"the same data source":   {template: template(from), claim: claim(defaulted)},
		"a data source no more":  {template: template(), claim: claim(defaulted), ignored: DataSource},
	} {
		t.Run(name, tc.check)
	}
}

// TestNeeds: the needs of a claim are those of its difference with the most work.
func TestNeeds(t *testing.T) {
	got := Compare(Pair{Template: template(sized("2Gi"), attributes("gold")), Claim: claim()}, known)
	if len(got.Differences) != 2 || got.Needs() != Modify {
		t.Errorf("%+v need %s", got, got.Needs())
	}
	got = Compare(Pair{Template: template(sized("2Gi"), of("slow")), Claim: claim()}, known)
	if len(got.Differences) != 2 || got.Needs() != Copy {
		t.Errorf("%+v need %s", got, got.Needs())
	}
}
