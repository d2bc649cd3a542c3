package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	copied  = VolumeSpec{ClaimTemplate: "data", Method: MethodCopy, Copy: CopySpec{Image: "mover"}}
	rebound = VolumeSpec{ClaimTemplate: "data", Method: MethodRebind}
)

func into(v VolumeSpec, class string) VolumeSpec {
	v.StorageClassName = &class
	return v
}

// TestAcceptedVolume: until completion, volumes move by the methods and into the classes from acceptance; other
// settings apply at once (I2, I3).
func TestAcceptedVolume(t *testing.T) {
	empty := VolumeSpec{ClaimTemplate: "data", Method: MethodEmpty}
	taken := VolumeSpec{ClaimTemplate: "data", Method: MethodSnapshot}
	another := copied
	another.Copy.Image = "another"
	shared := rebound
	shared.Shared = true
	for name, tc := range map[string]struct {
		accepted, asked []VolumeSpec
		want            VolumeSpec
	}{
		"nothing was asked":                     {nil, nil, rebound},
		"it is not accepted yet":                {nil, []VolumeSpec{copied}, copied},
		"nothing was changed":                   {[]VolumeSpec{copied}, []VolumeSpec{copied}, copied},
		"Copy becomes Rebind":                   {[]VolumeSpec{copied}, []VolumeSpec{rebound}, copied},
		"Copy becomes Empty":                    {[]VolumeSpec{copied}, []VolumeSpec{empty}, copied},
		"Copy becomes Snapshot":                 {[]VolumeSpec{copied}, []VolumeSpec{taken}, copied},
		"Rebind becomes Copy":                   {[]VolumeSpec{rebound}, []VolumeSpec{copied}, rebound},
		"Rebind becomes Empty":                  {[]VolumeSpec{rebound}, []VolumeSpec{empty}, rebound},
		"Empty becomes Rebind":                  {[]VolumeSpec{empty}, []VolumeSpec{rebound}, empty},
		"Snapshot becomes Copy":                 {[]VolumeSpec{taken}, []VolumeSpec{copied}, taken},
		"a template that was copied is dropped": {[]VolumeSpec{copied}, nil, copied},
		"a template that was not named is":      {[]VolumeSpec{rebound}, []VolumeSpec{copied}, rebound},
		"another template is named":             {[]VolumeSpec{rebound}, []VolumeSpec{{ClaimTemplate: "logs", Method: MethodCopy}}, rebound},
		"another image":                         {[]VolumeSpec{copied}, []VolumeSpec{another}, another},
		"a person's word on paths":              {[]VolumeSpec{rebound}, []VolumeSpec{shared}, shared},
		"another class":                         {[]VolumeSpec{into(rebound, "fast")}, []VolumeSpec{into(rebound, "slow")}, into(rebound, "fast")},
		"a class where there was none":          {[]VolumeSpec{rebound}, []VolumeSpec{into(rebound, "slow")}, rebound},
		"a class is dropped with its template":  {[]VolumeSpec{into(rebound, "fast")}, nil, into(rebound, "fast")},
		"another image and another class":       {[]VolumeSpec{into(copied, "fast")}, []VolumeSpec{into(another, "slow")}, into(another, "fast")},
	} {
		m := &Migration{Spec: MigrationSpec{Volumes: tc.asked}, Status: MigrationStatus{Baseline: &Baseline{Volumes: tc.accepted}}}
		if diff := cmp.Diff(tc.want, m.AcceptedVolume("data")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(copied, (&Migration{Spec: MigrationSpec{Volumes: []VolumeSpec{copied}}}).AcceptedVolume("data")); diff != "" {
		t.Errorf("without a baseline: -want +got\n%s", diff)
	}
}

// TestVolumesAsAccepted: each template is returned once, including those removed from the spec since.
func TestVolumesAsAccepted(t *testing.T) {
	logs := VolumeSpec{ClaimTemplate: "logs", Method: MethodEmpty}
	m := &Migration{Spec: MigrationSpec{Volumes: []VolumeSpec{logs, rebound}}}
	if diff := cmp.Diff([]VolumeSpec{logs, rebound}, m.VolumesAsAccepted()); diff != "" {
		t.Errorf("not accepted yet: -want +got\n%s", diff)
	}
	cache := VolumeSpec{ClaimTemplate: "cache", Method: MethodSnapshot}
	m.Status.Baseline = &Baseline{Volumes: []VolumeSpec{cache, copied}}
	if diff := cmp.Diff([]VolumeSpec{cache, copied, logs}, m.VolumesAsAccepted()); diff != "" {
		t.Errorf("accepted: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]VolumeSpec{cache, copied}, m.Status.Baseline.Volumes); diff != "" {
		t.Errorf("the record was changed: -want +got\n%s", diff)
	}
}

// TestAcceptedServices: until completion, the services configuration is the one from acceptance; a record of an older
// version does not contain it.
func TestAcceptedServices(t *testing.T) {
	names, none := ServicesSpec{PerOrdinal: PerOrdinalExport}, ServicesSpec{PerOrdinal: PerOrdinalNone}
	for name, tc := range map[string]struct {
		accepted *Baseline
		asked    ServicesSpec
		want     ServicesSpec
	}{
		"it is not accepted yet": {nil, names, names},
		"nothing is asked for":   {nil, ServicesSpec{}, none},
		"of an older version":    {&Baseline{}, names, names},
		"it is turned off":       {&Baseline{Services: &names}, none, names},
		"it is turned on":        {&Baseline{Services: &ServicesSpec{}}, names, none},
		"an export is dropped":   {&Baseline{Services: &ServicesSpec{Export: true}}, ServicesSpec{}, ServicesSpec{Export: true, PerOrdinal: PerOrdinalNone}},
	} {
		m := &Migration{Spec: MigrationSpec{Services: tc.asked}, Status: MigrationStatus{Baseline: tc.accepted}}
		got := m.AcceptedServices()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if got.NamesOrdinals() != (tc.want.PerOrdinal == PerOrdinalExport) || got.Exports() != (tc.want != none) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
