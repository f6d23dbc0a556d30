//! What is known of the job so far. Bounded in every direction.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::event::{Event, Kind, Problem};
use super::intern::{Name, Names};
use super::known::{Connection, Host, Process, SettingSeen};
use super::line::{self, Level, Line};
use super::patterns::Index;
use super::read;
use super::scan::Want;
use super::tally::{HostId, Place, Tally, add};
use super::text::{after, cut, number_after};

/// Places for processes of earlier lines; ranks of a job take turns.
const RECENT: usize = 4096;
const MOST_NAMES: usize = 8192;
const MOST_HOSTS: usize = 16_384;
const MOST_PROCESSES: usize = 131_072;
const MOST_KINDS: usize = 256;
const MOST_OTHERS: usize = 48;
const MOST_SETTINGS: usize = 512;
/// Values that differ between the ranks of one host: port lists, networks.
const MOST_VARIANTS: usize = 8;
const MOST_DEVICES: usize = 64;

/// A job as its log shows it.
#[derive(Debug)]
pub(crate) struct Job {
    index: Index,
    pub(super) names: Names,
    pub(super) files: Vec<String>,
    pub(super) hosts: Vec<Host>,
    host_ids: HashMap<String, HostId>,
    pub(super) processes: Vec<Process>,
    process_ids: HashMap<(HostId, u32), usize>,
    /// Processes of earlier lines by a number made of host and process; each place holds the last that had it.
    recent: Vec<Option<(HostId, u32, usize)>>,
    pub(super) releases: Vec<Name>,
    pub(super) tallies: Vec<Tally>,
    /// Warnings without a pattern, their numbers made equal.
    others: Vec<String>,
    pub(super) settings: Vec<SettingSeen>,
    /// Messages of NCCL, and those at the level INFO.
    pub(super) messages: u64,
    pub(super) infos: u64,
    /// Lines that PyTorch's report of an error still has.
    in_report: u8,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            index: Index::new(),
            names: Names::new(MOST_NAMES),
            files: Vec::new(),
            hosts: Vec::new(),
            host_ids: HashMap::new(),
            processes: Vec::new(),
            process_ids: HashMap::new(),
            recent: vec![None; RECENT],
            releases: Vec::new(),
            tallies: Vec::new(),
            others: Vec::new(),
            settings: Vec::new(),
            messages: 0,
            infos: 0,
            in_report: 0,
        }
    }
}

impl Job {
    /// Adds an input; the lines that follow are from it.
    pub(crate) fn add_file(&mut self, name: &str) -> usize {
        self.files.push(name.to_owned());
        self.files.len() - 1
    }

    /// Messages of NCCL so far.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Takes in a line.
    pub(crate) fn feed(&mut self, file: usize, line: u64, bytes: &[u8]) -> Want {
        let place = Place { file, line };
        let bytes = line::without_colours(bytes);
        // Nearly every line is UTF-8, and to find that out is faster than to repair it.
        let text: Cow<str> = match std::str::from_utf8(&bytes) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(&bytes),
        };
        if let Some(first) = line::parse(&text) {
            self.in_report = 0;
            self.said(&first, place);
            return Want::default();
        }
        self.mentioned(&text, place)
    }

    /// A message; another process's may have got into the same line.
    fn said(&mut self, line: &Line, place: Place) {
        let Some((text, rest)) = line::second(line.text) else {
            self.message(line, place);
            return;
        };
        self.message(&Line { text, ..*line }, place);
        if let Some(second) = line::parse(rest) {
            self.message(&second, place);
        }
    }

    /// A line that only mentions NCCL: the banner, PyTorch's report of an error, its watchdog.
    fn mentioned(&mut self, text: &str, place: Place) -> Want {
        const REPORT_LINES: u8 = 6;
        let rank = number_after(text, "[Rank ").or_else(|| number_after(text, "[rank"));
        if let Some(Event::Release(release)) = read::release(text) {
            self.messages += 1;
            self.release(release);
        }
        if text.contains("Watchdog caught collective operation timeout") {
            self.messages += 1;
            if let Some(Event::Problem(problem)) = read::watchdog(text) {
                self.problem(&problem, text, place, None, rank);
            }
        } else if text.contains("NCCL error in:") {
            self.in_report = REPORT_LINES;
            return Want {
                following: REPORT_LINES,
            };
        } else if self.in_report > 0 {
            self.in_report -= 1;
            let said = after(text, "]: ")
                .filter(|_| text.starts_with("[rank"))
                .unwrap_or(text);
            if let Some((_, Event::Problem(problem))) = self.index.read(said.trim(), true)
                // PyTorch repeats what NCCL has warned of, where that is shown at all.
                && !self.tallies.iter().any(|t| t.kind == problem.kind)
            {
                self.messages += 1;
                self.problem(&problem, said, place, None, rank);
            }
        }
        Want::default()
    }

    fn release(&mut self, release: &str) {
        let name = self.names.keep(cut(release, 40));
        add(&mut self.releases, name, MOST_VARIANTS);
    }

    fn message(&mut self, line: &Line, place: Place) {
        self.messages += 1;
        if line.level == Level::Other {
            return;
        }
        let is_warning = line.level == Level::Warn;
        self.infos += u64::from(!is_warning);
        let text = line.text.trim();
        let found = self.index.read(text, is_warning);
        if found.is_none() && !is_warning {
            return;
        }
        let process = self.process(line);
        match found {
            Some((_, event)) => self.event(event, text, place, line, process),
            None => self.other_warning(text, place, line, process),
        }
    }

    /// The process that speaks; none where the origin is torn off or there are too many.
    fn process(&mut self, line: &Line) -> Option<usize> {
        if line.host.is_empty() {
            return None;
        }
        let place = line
            .host
            .bytes()
            .rev()
            .take(4)
            .fold(line.pid as usize, |n, b| {
                n.wrapping_mul(31) + usize::from(b)
            })
            % RECENT;
        if let Some(Some((host, pid, process))) = self.recent.get(place)
            && *pid == line.pid
            && self.hosts.get(*host).is_some_and(|h| h.name == line.host)
        {
            return Some(*process);
        }
        let host = match self.host_ids.get(line.host) {
            Some(id) => *id,
            None if self.hosts.len() < MOST_HOSTS => {
                let name = cut(line.host, 64).to_owned();
                self.hosts.push(Host {
                    name: name.clone(),
                    ..Host::default()
                });
                self.host_ids.insert(name, self.hosts.len() - 1);
                self.hosts.len() - 1
            }
            None => return None,
        };
        let process = match self.process_ids.get(&(host, line.pid)) {
            Some(id) => *id,
            None if self.processes.len() < MOST_PROCESSES => {
                self.processes.push(Process {
                    host,
                    rank: line.rank,
                    ranks: 0,
                    network: None,
                });
                let id = self.processes.len() - 1;
                self.process_ids.insert((host, line.pid), id);
                if let Some(host) = self.hosts.get_mut(host) {
                    host.processes += 1;
                }
                id
            }
            None => return None,
        };
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = Some((host, line.pid, process));
        }
        Some(process)
    }

    fn event(
        &mut self,
        event: Event,
        text: &str,
        place: Place,
        line: &Line,
        process: Option<usize>,
    ) {
        let rank = process
            .and_then(|p| self.processes.get(p)?.rank)
            .or(line.rank);
        match event {
            Event::Release(release) => return self.release(release),
            Event::Problem(problem) => return self.problem(&problem, text, place, process, rank),
            Event::Harmless => return,
            _ => {}
        }
        let Some(process) = process.and_then(|p| self.processes.get_mut(p)) else {
            return;
        };
        let id = process.host;
        let Some(host) = self.hosts.get_mut(id) else {
            return;
        };
        let names = &mut self.names;
        match event {
            Event::Rank { rank, ranks } if ranks > process.ranks => {
                process.rank = Some(rank);
                process.ranks = ranks;
            }
            Event::Network(name) => {
                let name = names.keep(name);
                process.network = Some(name);
                add(&mut host.networks, name, MOST_VARIANTS);
            }
            Event::Channel { network, gdr } => {
                let Some(network) = network else {
                    return;
                };
                if network == "Socket" {
                    host.socket_channels += 1;
                } else {
                    host.channels += 1;
                    host.gdr_channels += u64::from(gdr);
                }
            }
            Event::Bootstrap { interface, address } => {
                let item = (names.keep(interface), cut(address, 64).to_owned());
                add(&mut host.bootstraps, item, MOST_VARIANTS);
            }
            Event::IbPorts { ports, interface } => {
                if !ports.is_empty() {
                    add(&mut host.ports, names.keep(&ports.join(" ")), MOST_VARIANTS);
                }
                if !interface.is_empty() {
                    add(&mut host.out_of_band, names.keep(interface), MOST_VARIANTS);
                }
            }
            Event::SocketInterfaces(list) => {
                for name in list {
                    add(&mut host.socket_interfaces, names.keep(name), MOST_VARIANTS);
                }
            }
            Event::Setting { name, value } => {
                let (name, value) = (names.keep(cut(name, 64)), names.keep(value));
                self.setting(name, value, place, id);
            }
            Event::PluginLoaded(name) => add(&mut host.plugins, names.keep(name), MOST_VARIANTS),
            Event::PluginMissing => host.plugin_missing = true,
            Event::Gdr { device, on } => {
                let list = if on {
                    &mut host.gdr_on
                } else {
                    &mut host.gdr_off
                };
                add(list, names.keep(device), MOST_DEVICES);
            }
            Event::GdrTooFar { device } => {
                add(&mut host.gdr_too_far, names.keep(device), MOST_DEVICES);
            }
            Event::Connection { device, index, gid } => {
                let connection = Connection { device, index, gid };
                add(&mut host.connections, connection, MOST_DEVICES);
            }
            _ => {}
        }
    }

    fn setting(&mut self, name: Name, value: Name, place: Place, host: HostId) {
        if let Some(known) = self
            .settings
            .iter_mut()
            .find(|s| s.name == name && s.value == value)
        {
            known.hosts.insert(host);
        } else if self.settings.len() < MOST_SETTINGS {
            self.settings.push(SettingSeen {
                name,
                value,
                first: place,
                hosts: BTreeSet::from([host]),
            });
        }
    }

    fn problem(
        &mut self,
        problem: &Problem,
        text: &str,
        place: Place,
        process: Option<usize>,
        rank: Option<u32>,
    ) {
        let host = process
            .and_then(|p| self.processes.get(p))
            .map_or(usize::MAX, |p| p.host);
        let device = (!problem.device.is_empty()).then(|| self.names.keep(problem.device));
        let at = match self.tallies.iter().position(|t| t.kind == problem.kind) {
            Some(at) => at,
            None if self.tallies.len() < MOST_KINDS => {
                self.tallies.push(Tally::new(problem.kind, place, text));
                self.tallies.len() - 1
            }
            None => return,
        };
        if let Some(tally) = self.tallies.get_mut(at) {
            tally.count(problem, host, device, rank);
        }
    }

    /// Keeps a warning that has no pattern, so that nothing is passed over in silence.
    fn other_warning(&mut self, text: &str, place: Place, line: &Line, process: Option<usize>) {
        const MOST_TEXT: usize = 160;
        let mut alike = String::new();
        for c in cut(text, MOST_TEXT).chars() {
            if !c.is_ascii_hexdigit() {
                alike.push(c);
            } else if !alike.ends_with('#') {
                alike.push('#');
            }
        }
        let number = match self.others.iter().position(|o| *o == alike) {
            Some(number) => number,
            None if self.others.len() < MOST_OTHERS => {
                self.others.push(alike);
                self.others.len() - 1
            }
            None => MOST_OTHERS,
        };
        let kind = Kind::Other(u32::try_from(number).unwrap_or(u32::MAX));
        let rank = process
            .and_then(|p| self.processes.get(p)?.rank)
            .or(line.rank);
        self.problem(&Problem::of(kind), text, place, process, rank);
    }
}
