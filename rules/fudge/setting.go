package fudge

import (
	"fmt"
	"maps"
	"slices"

	"tallystick/rules"
)

// Setting is what a campaign defines itself: the book leaves it to the game
// master to rate weapons at the beginning of the game (FUDGE-47), to make
// scales (FUDGE-58), and its hit point table stands in another section
// (FUDGE-49).
type Setting struct {
	Track   map[string]TrackRow `json:"track,omitzero" maxItems:"7" doc:"points at which a character is Hurt and worse, by the level of its Hit Points; levels left out follow from Fair by fudge.hp_track"`
	Weapons map[string]Weapon   `json:"weapons,omitzero" maxItems:"200" doc:"weapons that every character may use, by name"`
	Scales  map[string]Scale    `json:"scales,omitzero" maxItems:"200" doc:"kinds of beings, by name, for sheets to refer to"`
}

// TrackRow is the least points of each stage (FUDGE-49). Any point is a
// Scratch, and two beyond near_death are death (FUDGE-53).
type TrackRow struct {
	Hurt      int `json:"hurt" minimum:"1" maximum:"1000"`
	VeryHurt  int `json:"very_hurt" minimum:"1" maximum:"1000"`
	Disabled  int `json:"disabled" minimum:"1" maximum:"1000"`
	NearDeath int `json:"near_death" minimum:"1" maximum:"1000"`
}

// Setting is a pointer to a setting in which nothing is defined.
func (System) Setting() any { return new(Setting) }

// CheckSetting refuses levels, weapons and scales that are none.
func (System) CheckSetting(setting any) error {
	s := setting.(*Setting)
	for _, name := range slices.Sorted(maps.Keys(s.Track)) {
		if _, err := traitLevel("setting.track", name, Fair); err != nil {
			return &rules.Invalid{Field: "track." + name, Reason: "is no level from Terrible to Superb"}
		}
		if !s.Track[name].rises() {
			return &rules.Invalid{Field: "track." + name, Reason: "must not fall from hurt to near_death"}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Weapons)) {
		if err := s.Weapons[name].check("weapons." + name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Scales)) {
		scale := s.Scales[name]
		if scale.Kind != "" {
			return &rules.Invalid{Field: "scales." + name + ".kind", Reason: "is for sheets, which refer to this by name"}
		}
		if scale.HitPoints == "" {
			continue
		}
		if _, err := parseUnit("scales."+name+".hit_points", scale.HitPoints); err != nil {
			return err
		}
	}
	if err := oneSpelling("weapons", maps.Keys(s.Weapons)); err != nil {
		return err
	}
	return oneSpelling("scales", maps.Keys(s.Scales))
}

func (r TrackRow) rises() bool {
	return r.Hurt <= r.VeryHurt && r.VeryHurt <= r.Disabled && r.Disabled <= r.NearDeath
}

// settingOf is what the campaign has defined.
func settingOf(o rules.Options) *Setting { return o.Setting.(*Setting) }

// row is the track of a level of Hit Points: as the setting has it, or from
// the row of Fair, shifted by the level or the same for all (FUDGE-49).
func row(o rules.Options, level Level) track {
	s := settingOf(o)
	if r, defined := s.Track[level.String()]; defined {
		return newTrack(r, 0)
	}
	fair, defined := s.Track[Fair.String()]
	if !defined {
		fair = fairTrack
	}
	if o.Is(optTrack, shift) {
		return newTrack(fair, int(level))
	}
	return newTrack(fair, 0)
}

// fill completes the scale of a sheet from the setting, if it refers to one.
func (s *Scale) fill(o rules.Options) error {
	if s.Kind != "" && s.HitPoints == "" && s.Strength == 0 {
		defined, ok := named(settingOf(o).Scales, s.Kind)
		if !ok {
			return &rules.Invalid{Field: "scale.kind", Reason: fmt.Sprintf("is %q: the setting has no such scale", s.Kind)}
		}
		s.HitPoints, s.Strength = defined.HitPoints, defined.Strength
	}
	if s.HitPoints == "" {
		s.HitPoints = "1"
	}
	_, err := parseUnit("scale.hit_points", s.HitPoints)
	return err
}
