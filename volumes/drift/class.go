package drift

import (
	"fmt"
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

// storageClass compares the classes. A volume that was reserved for the claim may be of another class than the claim
// (kubernetes FindMatchingVolume), so the volume counts if it is known.
func (c *comparison) storageClass() {
	has, known := c.classOfClaim()
	if !known {
		c.unknown(StorageClass, "the claim has no class and no volume yet, and gets the default class when there is one")
		return
	}
	asked := volumes.ClassNamed(c.Template)
	d := Difference{Field: StorageClass, Claim: has, Needs: Copy, Reason: "a volume keeps its class"}
	if asked != nil {
		d.Template = *asked
		if has != *asked {
			c.differs(d)
		}
		return
	}
	standard := volumes.FindClass(nil, c.classes.Storage)
	switch {
	case c.classes.Storage == nil:
		c.unknown(StorageClass, "the template names no class, and the default class cannot be read")
	case standard == nil && has != "":
		c.unknown(StorageClass, "the template names no class, and the cluster has no default class")
	case standard != nil && has != standard.Name:
		d.Template, d.Reason = standard.Name, "the template names no class, and this is the default class now; a volume keeps its class"
		c.differs(d)
	}
}

// classOfClaim returns the class of the volume, or else of the claim, and whether it is decided. A claim without a class
// and a volume may still get the default class.
func (c *comparison) classOfClaim() (name string, known bool) {
	if c.Volume != nil {
		return volumes.ClassOf(c.Volume), true
	}
	named := volumes.ClassNamed(c.Claim)
	if named == nil {
		return "", c.bound()
	}
	return *named, true
}

// attributesClass compares the classes of attributes. An empty name means none.
func (c *comparison) attributesClass() {
	asked, has := value(c.Template.Spec.VolumeAttributesClassName), value(c.Claim.Spec.VolumeAttributesClassName)
	if asked == has {
		c.modification(asked)
		return
	}
	d := Difference{Field: AttributesClass, Claim: has, Template: asked}
	if asked == "" {
		d.Needs, d.Reason = Nothing, "the template asks for no attributes, and a volume keeps those that it has"
	} else {
		d.Needs, d.Reason = c.modifies(asked)
	}
	c.differs(d)
}

// modification adds a difference if the claim asks for the class of the template, and its volume does not have it yet.
func (c *comparison) modification(asked string) {
	change := ChangeOf(c.Claim)
	if !change.Modifies {
		return
	}
	d := Difference{Field: AttributesClass, Claim: value(c.Claim.Status.CurrentVolumeAttributesClassName), Template: asked, Needs: Nothing, Reason: "the volume is being modified"}
	if change.ModifiesNot {
		d.Needs, d.Reason = Copy, "the driver reports that it cannot modify the volume"
	}
	c.differs(d)
}

// modifies returns the work that gives the volume a class of attributes.
func (c *comparison) modifies(name string) (Need, string) {
	if c.classes.Attributes == nil {
		return Undecided, "the VolumeAttributesClasses cannot be read"
	}
	at := slices.IndexFunc(c.classes.Attributes, func(class storagev1.VolumeAttributesClass) bool { return class.Name == name })
	if at < 0 {
		return Undecided, "VolumeAttributesClass " + name + " does not exist"
	}
	driver, wants := c.driver(), c.classes.Attributes[at].DriverName
	switch driver {
	case wants:
		return Modify, "driver " + driver + " modifies the volume while pods use it"
	case "":
		return Undecided, "the driver of the volume is not known"
	default:
		return Copy, fmt.Sprintf("the volume is of driver %s, and VolumeAttributesClass %s of driver %s", driver, name, wants)
	}
}

// provisioners are the annotations of a claim that name the driver of its volume.
var provisioners = []string{"volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"}

// driver returns the driver of the claim's volume; empty if it is not known.
func (c *comparison) driver() string {
	if c.Volume != nil && c.Volume.Spec.CSI != nil {
		return c.Volume.Spec.CSI.Driver
	}
	for _, key := range provisioners {
		if name := c.Claim.Annotations[key]; name != "" {
			return name
		}
	}
	if class := c.ownClass(); class != nil {
		return class.Provisioner
	}
	return ""
}

// ownClass returns the StorageClass of the claim, which decides about its growth; nil if there is none, or if it is not
// known.
func (c *comparison) ownClass() *storagev1.StorageClass {
	named := volumes.ClassNamed(c.Claim)
	if named == nil {
		return nil
	}
	return volumes.FindClass(named, c.classes.Storage)
}

// value returns a text, or an empty one for nil.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
