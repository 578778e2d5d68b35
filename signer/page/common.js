// What people choose as passwords before anything else, and rows of keyboards: data for strength.js. Common
// passwords and the words in them, most used first within a line; a word's place tells how soon it is guessed.
// Parts of the page that do not use the lists leave them out, since their making is marked as pure.

const listed = (text) => Object.freeze(text.trim().split(/\s+/));

/** Passwords and words that every guessing program tries first. Lower case, without blanks. */
export const COMMON = /* @__PURE__ */ listed(`
password passwort passw0rd qwerty iloveyou letmein welcome monkey dragon master login admin abc sunshine princess football baseball
shadow superman batman trustno hello freedom whatever secret starwars michael jordan jennifer charlie computer internet
killer hunter ranger pepper ginger summer winter spring autumn cookie flower soccer hockey tigger buster hannah thomas robert
daniel andrew joshua matthew ashley jessica amanda nicole michelle samantha anthony william george maggie bailey
access master mustang corvette ferrari porsche harley yamaha chelsea arsenal liverpool barcelona london paris berlin moscow
lakers yankees cowboys eagles steelers dallas texas america american canada england germany france russia china india
pass user root test guest changeme default temp demo system server windows apple google facebook twitter telegram instagram
whatsapp microsoft samsung nokia amazon netflix youtube spotify
bitcoin ethereum solana crypto cryptocurrency blockchain phantom wallet ledger metamask binance coinbase satoshi nakamoto hodl
tothemoon lambo doge dogecoin token coin coins money dollar million private privatekey public seed phrase seedphrase passphrase purser
recovery mnemonic backup safe safety security secure mysecret mypassword mywallet mykey mybitcoin mysolana mymoney
love loveyou lover iloveu loveme forever always angel baby babygirl sweet sexy honey sugar candy mother father mom dad
family friend friends jesus christ god bless heaven blessed faith amen church allah
hallo hello hola bonjour ciao geheim schatz liebe lieber passwort motdepasse soleil amour chocolat contrasena contraseña senha
teamo estrella amigos familia parola haslo heslo salasana wachtwoord lozinka jelszo losenord parool
пароль любовь привет секрет солнце кошелек наташа марина сергей андрей
test testing tester example sample asdf asdfgh asdfghjkl zxcvbn zxcvbnm qazwsx qwertyuiop azerty qwertz wasd
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday
the and for you are not but with this that have from they will what when your can there their was were been has had
one two three four five six seven eight nine ten hundred thousand first second third last
my is it in on to of at me we he she his her our its be do go no so up us an as if or by am
mine yours the best man woman boy girl boss king queen prince lord lady star rock cool super mega ultra hot big small good bad
red blue green black white yellow orange purple pink silver gold golden diamond
dog cat bird fish horse tiger lion bear wolf eagle snake mouse rabbit turtle elephant dolphin panda
a i o
`);

/** Whole phrases that are known to everybody, without blanks. */
export const PHRASES = /* @__PURE__ */ listed(`
correcthorsebatterystaple correcthorsebattery thequickbrownfoxjumpsoverthelazydog thequickbrownfox jumpsoverthelazydog tobeornottobe thatisthequestion
maytheforcebewithyou loremipsumdolorsitamet allyourbasearebelongtous opensesame onceuponatime neverforget nevergonnagiveyouup
letmeinplease iloveyousomuch inthebeginning ourfatherwhoartinheaven themoonisaharshmistress winteriscoming houstonwehaveaproblem
knowledgeispower timeismoney wheniwasyoung myfavoriteword whatisyourname howareyoutoday ihavenoidea idontknow thisismypassword
thisisapassword thisissecret passwordpassword notyourkeysnotyourcoins buythedip diamondhands tothemoonandback hellodarknessmyoldfriend
yesterdayallmytroubles weallliveinayellowsubmarine imaginealllthepeople iamyourfather theanswerisfortytwo livelonganandprosper livelongandprosper
`);

/** Rows of keys, and what is typed along them: any stretch of one, forwards or backwards, is one guess among few. */
export const ROWS = /* @__PURE__ */ listed(`
abcdefghijklmnopqrstuvwxyz 01234567890 1234567890 qwertyuiop asdfghjkl zxcvbnm azertyuiop qsdfghjklm wxcvbn qwertzuiop yxcvbnm
qazwsxedcrfvtgbyhnujmikolp 1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p 1q2w3e4r5t6y7u8i9o0p zaqxswcdevfrbgtnhymjukilop q1w2e3r4t5y6u7i8o9p0 !@#$%^&*() a1b2c3d4e5f6g7h8i9
aabbccddeeffgghhiijjkkll 112233445566778899 11223344556677889900 102030405060708090 147258369 159357 789456123 абвгдежзийклмнопрстуфхцчшщ йцукенгшщзхъ фывапролджэ ячсмитьбю
`);
